"""HTTP to one backend: headers, time limits, retries, failures under our names. Knows nothing of messages."""

import itertools
import ssl
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager

import anyio
import httpx

from inference_client.errors import (
    ConnectFailed,
    ConnectionLost,
    InferenceError,
    ProtocolError,
    StatusError,
)
from inference_client.retry import RetryPolicy
from inference_client.timeouts import Patience, Timeouts
from inference_client.wire import parse_status_error

_MAX_ERROR_BYTES = 64 * 1024


class Connection:
    """One httpx client. Follows no redirect, takes no proxy and no key from the environment."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None,
        timeouts: Timeouts,
        retry: RetryPolicy,
        transport: httpx.AsyncBaseTransport | None,
    ) -> None:
        self._retry = retry
        self._http = httpx.AsyncClient(
            base_url=base_url,
            headers=_headers(api_key),
            # Patience limits the reading, because only events count there, not bytes.
            timeout=httpx.Timeout(connect=timeouts.connect, read=None, write=timeouts.write, pool=timeouts.pool),
            # A stream holds its connection for minutes; how many there may be is the caller's to limit.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            verify=authorities(base_url),
            follow_redirects=False,
            trust_env=False,
            transport=transport,
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def open(
        self,
        method: str,
        path: str,
        accept: str,
        content: bytes | None,
        timeouts: Timeouts,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[httpx.Response, Patience]:
        """A response with success whose body is not read yet, and what is left of the waiting.

        The caller closes the response. Raises TransportError and StatusError, after the last attempt.
        """
        for attempt in itertools.count(1):
            try:
                return await self._attempt(method, path, {**(headers or {}), "accept": accept}, content, timeouts)
            except InferenceError as error:
                delay = self._retry.delay(attempt, error)
                if delay is None:
                    raise
            await self._retry.sleep(delay)
        raise AssertionError("the attempts are endless")

    async def _attempt(
        self, method: str, path: str, headers: dict[str, str], content: bytes | None, timeouts: Timeouts
    ) -> tuple[httpx.Response, Patience]:
        if content is not None:
            headers["content-type"] = "application/json"
        request = self._http.build_request(method, path, content=content, headers=headers)
        patience = Patience(timeouts)
        seconds, too_late = patience.wait()
        try:
            with anyio.fail_after(seconds), named_failures():
                response = await self._http.send(request, stream=True)
                if not response.is_success:
                    raise await _status_error(response)
        except TimeoutError:
            raise too_late from None
        return response, patience


def authorities(base_url: str) -> ssl.SSLContext:
    """Whom TLS trusts: the usual authorities. Nobody for a plain address, which spares reading a long list."""
    if httpx.URL(base_url).scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.create_ssl_context(trust_env=False)


def _headers(api_key: str | None) -> dict[str, str]:
    headers = {
        "anthropic-version": "2023-06-01",
        "user-agent": "recount",
        # Compression would hold events back.
        "accept-encoding": "identity",
    }
    return headers if api_key is None else {**headers, "x-api-key": api_key}


@contextmanager
def named_failures() -> Iterator[None]:
    """Raises our errors in place of those of httpx."""
    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol) as error:
        raise ConnectFailed(str(error) or type(error).__name__) from error
    except httpx.TransportError as error:
        raise ConnectionLost(str(error) or type(error).__name__) from error
    except httpx.DecodingError as error:
        raise ProtocolError("the body is not encoded as its headers say") from error


async def body_chunks(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    with named_failures():
        async for chunk in response.aiter_bytes():
            yield chunk


async def read_body(response: httpx.Response, limit: int) -> bytes:
    """The whole body. Raises ProtocolError when it is larger than `limit` bytes."""
    body = bytearray()
    async for chunk in body_chunks(response):
        body += chunk
        if len(body) > limit:
            raise ProtocolError(f"the answer is larger than {limit} bytes")
    return bytes(body)


async def _status_error(response: httpx.Response) -> StatusError:
    try:
        body = await read_body(response, _MAX_ERROR_BYTES)
    except InferenceError:
        body = b""  # The status says enough.
    finally:
        await response.aclose()
    return parse_status_error(response.status_code, response.headers, body)
