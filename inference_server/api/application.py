"""The Starlette application of the inference server: its routes and handlers, to be read top to bottom."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from inference_server.api.diagnosis import Diagnosis
from inference_server.api.door import Door
from inference_server.api.errors import client_left, crash, http_error, refuse, unavailable
from inference_server.api.generation import Generator
from inference_server.api.inspection import Inspection
from inference_server.api.inspection_routes import compare, forget, show_attention, show_cache, show_tokens
from inference_server.api.messages import count_tokens, create_message
from inference_server.api.models import list_models, show_model
from inference_server.async_engine import AsyncEngine
from inference_server.config import ServerConfig
from inference_server.errors import EngineDead, RequestError
from inference_server.stats import Stats


def create_app(
    config: ServerConfig,
    generator: Generator,
    engine: AsyncEngine,
    stats: Stats,
    diagnosis: Diagnosis,
    inspection: Inspection,
) -> Starlette:
    """Put the application together. Another thread has to run the engine; the lifespan's end stops it."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        engine.attach()
        yield
        engine.stop()

    app = Starlette(
        routes=[
            Route("/v1/messages", create_message, methods=["POST"]),
            Route("/v1/messages/count_tokens", count_tokens, methods=["POST"]),
            Route("/v1/messages/compare", compare, methods=["POST"]),
            Route("/v1/messages/forget", forget, methods=["POST"]),
            Route("/v1/messages/{message_id}/tokens", show_tokens),
            Route("/v1/messages/{message_id}/attention", show_attention, methods=["POST"]),
            Route("/v1/cache", show_cache),
            Route("/v1/models", list_models),
            Route("/v1/models/{model_id}", show_model),
            Route("/health", health),
            Route("/metrics", metrics),
        ],
        middleware=[Middleware(Door, key=config.key)],
        exception_handlers={
            RequestError: refuse,
            EngineDead: unavailable,
            HTTPException: http_error,
            ClientDisconnect: client_left,
            Exception: crash,
        },
        lifespan=lifespan,
    )
    app.state.config, app.state.generator, app.state.engine, app.state.stats = config, generator, engine, stats
    app.state.diagnosis, app.state.inspection = diagnosis, inspection
    return app


async def health(request: Request) -> Response:
    """200 while requests can be answered, 503 once the engine has died."""
    generator: Generator = request.app.state.generator
    alive = request.app.state.engine.is_alive
    body = {
        "status": "ok" if alive else "engine stopped",
        "model": generator.model.id,
        "serving_id": generator.serving_id,
    }
    return JSONResponse(body, status_code=200 if alive else 503)


async def metrics(request: Request) -> Response:
    """Counters in Prometheus's text format."""
    stats: Stats = request.app.state.stats
    return Response(generate_latest(stats.registry), media_type=CONTENT_TYPE_LATEST)
