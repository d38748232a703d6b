"""The command line of the inference server: flags and environment to a configuration, then serve until told to stop."""

import ipaddress
import logging
import os
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Literal, TextIO

import click
import structlog
import uvicorn

from inference_server.assembly import load_app
from inference_server.async_engine import AsyncEngine
from inference_server.bundled_model import bundled_model
from inference_server.config import MIB, ServerConfig
from inference_server.errors import ConfigError, InferenceServerError

GRACE_S = 5
"""How long streams may go on after SIGTERM."""
KEEP_ALIVE_S = 75
"""Longer than clients keep an idle connection, so that it is they who close it, and never just as they use it."""


@click.command(context_settings={"show_default": True})
@click.option("--model", type=click.Path(path_type=Path), envvar="RECOUNT_MODEL", help="GGUF file; default: bundled.")
@click.option("--host", default="127.0.0.1", envvar="RECOUNT_INFERENCE_HOST", help="Address to listen on.")
@click.option("--port", default=8100, envvar="RECOUNT_INFERENCE_PORT", type=click.IntRange(0, 65535), help="Port.")
@click.option("--key", envvar="RECOUNT_INFERENCE_KEY", help="API key that callers must send.", show_default=False)
@click.option("--kv-memory", default=512, type=click.IntRange(1), help="Memory of the KV pool, in MiB.")
@click.option("--prefix-cache/--no-prefix-cache", default=True, help="Without it every request is computed whole.")
@click.option("--transcript-memory", default=64, type=click.IntRange(0), help="Memory of sampled tokens, in MiB.")
@click.option("--record-memory", default=64, type=click.IntRange(0), help="Memory of requests to inspect, in MiB.")
@click.option("--chat-template", type=click.File(), help="Jinja template to use instead of the model file's.")
@click.option("--cache-scope", type=click.Choice(["user", "shared"]), default="user", help="Who shares cached tokens.")
@click.option(
    "--history",
    type=click.Choice(["transcript", "template"]),
    default="transcript",
    help="Resend the tokens that the model saw, or what the chat template makes of the conversation now.",
)
@click.option(
    "--compute",
    type=click.Choice(["auto", "packed", "bfloat16", "float32"]),
    default="auto",
    help="How weights are multiplied; auto is packed on the CPU and bfloat16 on a GPU.",
)
@click.option("--deterministic", is_flag=True, help="Answers do not depend on batches and cache by a bit; slower.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", help="Where the model runs.")
@click.option("--temperature", default=0.2, type=click.FloatRange(0, 2), help="For requests that name none.")
@click.option("--supervised", type=int, hidden=True, metavar="FD", help="Inherited socket; end when stdin closes.")
@click.option("--top-p", default=0.9, type=click.FloatRange(0, 1, min_open=True), help="For requests that name none.")
def main(
    model: Path | None,
    host: str,
    port: int,
    key: str | None,
    kv_memory: int,
    prefix_cache: bool,
    transcript_memory: int,
    record_memory: int,
    chat_template: TextIO | None,
    cache_scope: str,
    history: Literal["transcript", "template"],
    compute: Literal["auto", "packed", "bfloat16", "float32"],
    deterministic: bool,
    device: str,
    temperature: float,
    supervised: int | None,
    top_p: float,
) -> None:
    """Serve one model by the Anthropic Messages API, with a token-exact prefix cache."""
    _configure_logging()
    if supervised is not None:
        threading.Thread(target=_end_with_stdin, name="stdin", daemon=True).start()
    try:
        config = ServerConfig(
            model=model or bundled_model(),
            host=host,
            port=port,
            key=key or None,
            kv_bytes=kv_memory * MIB,
            prefix_cache=prefix_cache,
            transcript_bytes=transcript_memory * MIB,
            record_bytes=record_memory * MIB,
            chat_template=chat_template.read() if chat_template else None,
            shared_cache=cache_scope == "shared",
            history=history,
            compute=compute,
            deterministic=deterministic,
            device=device,
            temperature=temperature,
            top_p=top_p,
        )
        served_to_the_end = serve(config, None if supervised is None else socket.socket(fileno=supervised))
    except InferenceServerError as error:
        click.echo(f"recount infer: {error}", err=True)
        sys.exit(1)
    sys.exit(0 if served_to_the_end else 1)


def serve(config: ServerConfig, inherited: socket.socket | None = None) -> bool:
    """Serve until SIGINT or SIGTERM. False: the engine died, and a supervisor should start the process again.

    A supervisor has bound the ``inherited`` socket, so that nobody else gets the address between two starts.
    Raises ConfigError (address) or ModelFileError before anything listens.
    """
    if config.key is None and not _is_loopback(config.host):
        raise ConfigError(f"listening on {config.host} needs a key (RECOUNT_INFERENCE_KEY), or use 127.0.0.1")
    with inherited or _bind(config.host, config.port) as listener:
        app = load_app(config, on_death=lambda: _end(server))
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=GRACE_S,
                ws="none",
            )
        )
        for kind in (signal.SIGINT, signal.SIGTERM):
            signal.signal(kind, lambda _number, _frame: _end(server))
        engine: AsyncEngine = app.state.engine
        web = threading.Thread(target=_serve_web, args=(server, listener, engine), name="web")
        web.start()
        # The engine has the main thread: OpenMP counts that one anyway, and lets its workers sleep at every barrier
        # when it counts more threads than processors, which doubles the time of a step.
        engine.run()
        web.join()
    return engine.is_alive


def _serve_web(server: uvicorn.Server, listener: socket.socket, engine: AsyncEngine) -> None:
    try:
        server.run(sockets=[listener])
    finally:
        engine.stop()


def _end(server: uvicorn.Server) -> None:
    server.should_exit = True


def _bind(host: str, port: int) -> socket.socket:
    """Take the address at once, so that a taken port is found before the model is loaded."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ConfigError(f"cannot listen on {host} port {port}: {error.strerror or error}") from error
    return listener


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _end_with_stdin() -> None:
    """A supervisor that is killed cannot stop us, but its end of the pipe closes."""
    while os.read(sys.stdin.fileno(), 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _configure_logging() -> None:
    """One line an event on standard error, the libraries' warnings included."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            # Plain tracebacks: the default ones show local variables, which hold prompts.
            structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
