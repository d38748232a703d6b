"""Templates to responses, in the visitor's language. Knows the house only by what views hand over."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from app.web.assets import STATIC_PREFIX
from app.web.form_guard import FORM_TOKEN_FIELD
from app.web.languages import Language
from app.web.visit import visit_of

_PACKAGE = Path(__file__).parent.parent


def templates_folder() -> Path:
    """Inside the package where a wheel was installed, beside it in a checkout."""
    installed = _PACKAGE / "templates"
    return installed if installed.is_dir() else _PACKAGE.parent / "templates"


class Pages:
    """One Jinja environment per language: translations are part of an environment."""

    def __init__(self, languages: Mapping[str, Language], static_version: str) -> None:
        self._environments = {tag: _environment(language, static_version) for tag, language in languages.items()}

    def render(self, request: Request, template: str, **values: Any) -> str:
        visit = visit_of(request)
        return (
            self._environments[visit.language.tag]
            .get_template(template)
            .render(
                visit=visit,
                account=visit.account,
                nonce=request.state.nonce,
                form_token=visit.form_token,
                page_path=request.url.path,
                **values,
            )
        )

    def response(
        self,
        request: Request,
        template: str,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        **values: Any,
    ) -> HTMLResponse:
        return HTMLResponse(self.render(request, template, **values), status, headers)


def pages_of(request: Request) -> Pages:
    return cast("Pages", request.app.state.pages)


def _environment(language: Language, static_version: str) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(templates_folder()),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_translations(language.translations, newstyle=True)  # type: ignore[attr-defined]
    environment.globals.update(
        language=language,
        static=f"{STATIC_PREFIX}{static_version}",
        form_token_field=FORM_TOKEN_FIELD,
    )
    return environment
