"""Starts the bundled inference server as a child process, waits for it, and starts it again when it dies.

It knows the server by its command line and its health page only. It binds the server's address itself and hands the
socket down, so that the address is never somebody else's, not even between two starts: requests carry a key and text.
"""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import httpx
import structlog

from app.errors import ConfigurationError
from app.settings import Settings

log = structlog.get_logger(__name__)

POLL_S = 0.1
STOP_GRACE_S = 8.0
FIRST_RESTART_DELAY_S = 1.0
LONGEST_RESTART_DELAY_S = 30.0


class InferenceDied(ConfigurationError):
    """The server ended before it was ready. It has said why itself, unless a signal killed it."""


@asynccontextmanager
async def supervised_inference(
    settings: Settings, key: str, listener: socket.socket, report: Callable[[str], None]
) -> AsyncIterator[None]:
    """Run the bundled server on the bound ``listener`` while the body runs; enters when it answers.

    Raises InferenceDied when the first start fails. Later deaths are logged and mended.
    """
    # Listening already: who comes while the model is loaded waits, and nobody else can listen here.
    listener.listen()
    url = settings.resolved_backends()[0].base_url
    process = await _start(settings, key, listener)
    try:
        await _until_ready(process, url, report)
    except BaseException:
        await _stop(process)
        raise
    keeper = asyncio.create_task(_keep_running(process, settings, key, listener, url), name="inference-supervisor")
    try:
        yield
    finally:
        keeper.cancel()
        with suppress(asyncio.CancelledError):
            await keeper


async def _start(settings: Settings, key: str, listener: socket.socket) -> asyncio.subprocess.Process:
    """The child leads a session of its own, so that Ctrl-C reaches us alone and answers can drain first.

    It ends when its standard input closes, so it never outlives us.
    """
    environment = {
        **os.environ,
        "RECOUNT_INFERENCE_KEY": key,
    }
    if settings.model is not None:
        environment["RECOUNT_MODEL"] = str(settings.model)
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "inference_server",
        "--supervised",
        str(listener.fileno()),
        stdin=asyncio.subprocess.PIPE,
        pass_fds=[listener.fileno()],
        env=environment,
        start_new_session=True,
    )


async def _until_ready(process: asyncio.subprocess.Process, url: str, report: Callable[[str], None]) -> None:
    report("Loading the model")
    async with httpx.AsyncClient(trust_env=False, timeout=1.0) as http:
        while process.returncode is None:
            with suppress(httpx.TransportError):
                if (await http.get(f"{url}/health")).is_success and process.returncode is None:
                    return
            await asyncio.sleep(POLL_S)
    if process.returncode == 1:
        raise InferenceDied("")
    raise InferenceDied(f"The inference server ended with code {process.returncode} while it was starting.")


async def _keep_running(
    process: asyncio.subprocess.Process, settings: Settings, key: str, listener: socket.socket, url: str
) -> None:
    delay = FIRST_RESTART_DELAY_S
    try:
        while True:
            code = await process.wait()
            log.error("inference_server_ended", code=code, restart_in_s=delay)
            await asyncio.sleep(delay)
            process = await _start(settings, key, listener)
            try:
                await _until_ready(process, url, lambda _line: None)
                delay = FIRST_RESTART_DELAY_S
                log.info("inference_server_is_back")
            except InferenceDied:
                delay = min(2 * delay, LONGEST_RESTART_DELAY_S)
    finally:
        await _stop(process)


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_GRACE_S)
    except TimeoutError:
        process.kill()
        await process.wait()
