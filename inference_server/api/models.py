"""``GET /v1/models``: the one model that this server has."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from inference_server.api.generation import Generator
from inference_server.errors import ModelNotFound


async def list_models(request: Request) -> Response:
    """The list, which has one entry."""
    model = _entry(request.app.state.generator)
    return JSONResponse({"data": [model], "has_more": False, "first_id": model["id"], "last_id": model["id"]})


async def show_model(request: Request) -> Response:
    """One model by its id."""
    generator: Generator = request.app.state.generator
    if request.path_params["model_id"] != generator.model.id:
        raise ModelNotFound(f"model: {request.path_params['model_id']!r} is not served here")
    return JSONResponse(_entry(generator))


def _entry(generator: Generator) -> dict[str, object]:
    return {
        "type": "model",
        "id": generator.model.id,
        "display_name": generator.model.name,
        "created_at": "1970-01-01T00:00:00Z",  # The wire's value for "not known".
        "lifecycle": "active",
        "max_input_tokens": generator.model.window,
    }
