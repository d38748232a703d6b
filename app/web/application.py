"""The app: every route and every piece of middleware, top to bottom, and the house that opens with it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from app.auth.passwords import Passwords
from app.clock import Clock, utc_now
from app.house import open_house
from app.markdown import Markdown
from app.settings import Settings
from app.turns.rhythm import Rhythm
from app.web import (
    account_pages,
    audit_page,
    backend_banner,
    choice_pages,
    context_fragment,
    conversation_pages,
    export_routes,
    help_page,
    import_page,
    invite_page,
    list_pages,
    message_routes,
    operator_invites,
    people_pages,
    search_page,
    sending,
    setup_page,
    signing_in,
    system_prompt_check,
    turn_routes,
    usage_page,
)
from app.web.assets import STATIC_FOLDER, STATIC_PREFIX, contents_version
from app.web.body_limit import BodyLimitMiddleware
from app.web.cache_pages import conversation as cache_conversation
from app.web.cache_pages import turn as cache_turn
from app.web.cache_pages import what_if
from app.web.crash_page import CrashPageMiddleware
from app.web.error_pages import EXCEPTION_HANDLERS
from app.web.form_guard import FormGuardMiddleware
from app.web.forms import MAX_BODY_BYTES, MAX_UPLOAD_BYTES, UPLOAD_PATH
from app.web.health import health
from app.web.instruments import Instruments, RequestCountsMiddleware
from app.web.languages import load_languages
from app.web.metrics import metrics
from app.web.operator import (
    backend_pages,
    conversations_page,
    exports,
    overview_page,
    settings_page,
    storage_page,
    turns_page,
)
from app.web.operator.filter_problem import FILTER_HANDLERS
from app.web.pages import Pages
from app.web.request_id import RequestIdMiddleware
from app.web.request_limits import RequestLimitsMiddleware
from app.web.security_headers import SecurityHeadersMiddleware
from app.web.session_cookie import CookieJar, SessionMiddleware
from app.web.table_files import FORMATS
from app.web.transcript import Transcript
from app.web.zones import zone_names

_CONVERSATION = "/conversations/{conversation_id:uuid}"
_MESSAGE = "/conversations/{conversation_id:uuid}/messages/{message_id:uuid}"

PAGE_ROUTES = [
    Route("/", conversation_pages.new_conversation),
    Route("/setup", setup_page.setup_page, methods=["GET"]),
    Route("/setup", setup_page.create_first_account, methods=["POST"]),
    Route("/sign-in", signing_in.sign_in_page, methods=["GET"]),
    Route("/sign-in", signing_in.sign_in, methods=["POST"]),
    Route("/sign-out", signing_in.sign_out, methods=["POST"]),
    Route("/search", search_page.search),
    Route("/sidebar", list_pages.sidebar),
    Route("/help", help_page.help_page),
    Route("/conversations", list_pages.all_conversations, methods=["GET"]),
    Route("/conversations", sending.start_conversation, methods=["POST"]),
    Route("/conversations/{conversation_id:uuid}", conversation_pages.conversation),
    Route("/conversations/{conversation_id:uuid}/context", context_fragment.context),
    Route("/conversations/{conversation_id:uuid}/messages", sending.send_message, methods=["POST"]),
    Route(_MESSAGE, sending.message),
    Route(f"{_MESSAGE}/edit", message_routes.edit_message, methods=["POST"]),
    Route(f"{_MESSAGE}/regenerate", message_routes.ask_again, methods=["POST"]),
    Route(f"{_MESSAGE}/retry", message_routes.ask_again, methods=["POST"]),
    Route(f"{_MESSAGE}/continue", message_routes.ask_again, methods=["POST"]),
    Route(f"{_MESSAGE}/select", message_routes.select_branch, methods=["POST"]),
    Route(f"{_MESSAGE}/text", message_routes.message_text),
    Route(f"{_MESSAGE}/delete", message_routes.confirm_delete_message, methods=["GET"]),
    Route(f"{_MESSAGE}/delete", message_routes.delete_message, methods=["POST"]),
    Route("/conversations/{conversation_id:uuid}/title", conversation_pages.rename, methods=["POST"]),
    Route(
        "/conversations/{conversation_id:uuid}/system-prompt",
        conversation_pages.change_system_prompt,
        methods=["POST"],
    ),
    Route("/conversations/{conversation_id:uuid}/delete", conversation_pages.confirm_delete, methods=["GET"]),
    Route("/conversations/{conversation_id:uuid}/delete", conversation_pages.delete, methods=["POST"]),
    Route("/system-prompt/check", system_prompt_check.check_system_prompt, methods=["POST"]),
    Route("/conversations/{conversation_id:uuid}/pinned", list_pages.pin, methods=["POST"]),
    Route("/conversations/{conversation_id:uuid}/archived", list_pages.archive, methods=["POST"]),
    Route("/conversations/{conversation_id:uuid}/choices", choice_pages.choices, methods=["GET"]),
    Route("/conversations/{conversation_id:uuid}/choices", choice_pages.choose, methods=["POST"]),
    Route("/conversations/{conversation_id:uuid}/export.json", export_routes.export_file),
    Route("/conversations/{conversation_id:uuid}/export.md", export_routes.export_markdown),
    Route("/account/data", export_routes.export_everything),
    Route(UPLOAD_PATH, import_page.import_page, methods=["GET"]),
    Route(UPLOAD_PATH, import_page.import_conversation, methods=["POST"]),
    Route("/turns/{turn_id:uuid}/events", turn_routes.turn_events),
    Route("/turns/{turn_id:uuid}/stop", turn_routes.stop_turn, methods=["POST"]),
    Route("/operator", overview_page.overview),
    Route("/operator/turns", turns_page.turns),
    Route("/operator/conversations", conversations_page.conversations),
    Route("/operator/conversations/{conversation_id:uuid}", cache_conversation.operator_conversation),
    Route("/operator/turns/{turn_id:uuid}", cache_turn.operator_turn),
    Route("/conversations/{conversation_id:uuid}/cache", cache_conversation.own_conversation),
    Route("/conversations/{conversation_id:uuid}/cache/turns/{turn_id:uuid}", cache_turn.own_turn),
    *(Route(f"/operator/export/{name}.{kind}", view) for name, view in exports.TABLES.items() for kind in FORMATS),
    *(Route(f"/operator{_CONVERSATION}/turns.{kind}", exports.conversation_turns) for kind in FORMATS),
    *(Route(f"{_CONVERSATION}/cache/turns.{kind}", exports.own_conversation_turns) for kind in FORMATS),
    Route("/invite", invite_page.invite_page, methods=["GET"]),
    Route("/invite", invite_page.accept_invite, methods=["POST"]),
    Route("/account", account_pages.account),
    Route("/account/profile", account_pages.change_profile, methods=["POST"]),
    Route("/account/password", account_pages.change_password, methods=["POST"]),
    Route("/account/sessions/end", account_pages.end_all_sessions, methods=["POST"]),
    Route("/account/sessions/{session_id:uuid}/end", account_pages.end_session, methods=["POST"]),
    Route("/account/usage", usage_page.usage),
    Route("/account/delete", account_pages.confirm_delete, methods=["GET"]),
    Route("/account/delete", account_pages.delete, methods=["POST"]),
    Route("/operator/people", people_pages.people),
    Route("/operator/people/{user_id:uuid}", people_pages.person),
    Route("/operator/people/{user_id:uuid}/disable", people_pages.disable, methods=["POST"]),
    Route("/operator/people/{user_id:uuid}/enable", people_pages.enable, methods=["POST"]),
    Route("/operator/people/{user_id:uuid}/role", people_pages.set_role, methods=["POST"]),
    Route("/operator/people/{user_id:uuid}/password", people_pages.reset_password, methods=["POST"]),
    Route("/operator/people/{user_id:uuid}/delete", people_pages.delete, methods=["POST"]),
    Route("/operator/invites", operator_invites.invites, methods=["GET"]),
    Route("/operator/invites", operator_invites.create_invite, methods=["POST"]),
    Route("/operator/invites/{invite_id:uuid}/revoke", operator_invites.revoke_invite, methods=["POST"]),
    Route("/operator/audit", audit_page.audit),
    Route("/backend", backend_banner.backend_banner),
    Route("/operator/conversations/{conversation_id:uuid}/what-if", what_if.operator_what_if),
    Route("/conversations/{conversation_id:uuid}/cache/what-if", what_if.own_what_if),
    Route("/operator/backends", backend_pages.backends),
    Route("/operator/backends/doctor", backend_pages.run_doctor, methods=["POST"]),
    Route("/operator/settings", settings_page.settings),
    Route("/operator/storage", storage_page.storage),
]


def create_app(
    settings: Settings, *, clock: Clock = utc_now, rhythm: Rhythm | None = None, passwords: Passwords | None = None
) -> Starlette:
    """The ASGI app. Its lifespan opens the house, and closing it ends or hands over what is still running."""
    languages = load_languages()
    cookies = CookieJar(settings)
    static_version = contents_version()
    instruments = Instruments()
    page_middleware = [
        Middleware(SessionMiddleware, cookies=cookies, languages=languages),
        Middleware(FormGuardMiddleware, routes=PAGE_ROUTES),
        Middleware(RequestLimitsMiddleware),
    ]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with open_house(settings, clock=clock, rhythm=rhythm, passwords=passwords) as house:
            app.state.house = house
            yield

    app = Starlette(
        routes=[
            Route("/health", health),
            Route("/metrics", metrics),
            Mount(f"{STATIC_PREFIX}{static_version}", StaticFiles(directory=STATIC_FOLDER)),
            Mount("", routes=PAGE_ROUTES, middleware=page_middleware),
        ],
        middleware=[
            Middleware(RequestIdMiddleware),
            Middleware(RequestCountsMiddleware, instruments=instruments),
            Middleware(SecurityHeadersMiddleware, secure=settings.secure_cookies),
            Middleware(CrashPageMiddleware),
            Middleware(TrustedHostMiddleware, allowed_hosts=settings.trusted_hosts or ["*"], www_redirect=False),
            Middleware(BodyLimitMiddleware, max_bytes=MAX_BODY_BYTES, larger={UPLOAD_PATH: MAX_UPLOAD_BYTES}),
            Middleware(GZipMiddleware, minimum_size=1000),
        ],
        exception_handlers={**EXCEPTION_HANDLERS, **FILTER_HANDLERS},
        lifespan=lifespan,
    )
    app.state.pages = Pages(languages, static_version)
    app.state.cookies = cookies
    app.state.instruments = instruments
    app.state.transcript = Transcript(Markdown())
    app.state.zones = zone_names()
    return app
