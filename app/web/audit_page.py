"""The audit log for operators: what was done, when, by whom and to whom; never a text or a typed name."""

from dataclasses import dataclass
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from app.auth import AuditRow
from app.web.languages import Language
from app.web.operator_pages import operator_of
from app.web.pages import pages_of
from app.web.visit import house_of, visit_of

PAGE_LENGTH = 100


@dataclass(frozen=True, slots=True)
class AuditCells:
    """One row in words; "–" where nothing was stored."""

    at: str
    action: str
    actor: str
    subject: str
    remote: str


async def audit(request: Request) -> Response:
    operator_of(request)
    visit, before = visit_of(request), _before(request)
    rows = await house_of(request).audit_log.page(PAGE_LENGTH, before)
    return pages_of(request).response(
        request,
        "operator/audit.html",
        rows=[cells_of(row, visit.language, visit.time_zone) for row in rows],
        before=before,
        older=rows[-1].id if len(rows) == PAGE_LENGTH else None,
    )


def cells_of(row: AuditRow, language: Language, zone: str) -> AuditCells:
    return AuditCells(
        at=language.moment(row.at, zone),
        action=action_words(row.action, language),
        actor=row.actor or "–",
        subject=row.subject or "–",
        remote=row.remote or "–",
    )


def action_words(action: str, language: Language) -> str:
    """docs/audit.md says more of each. One that has no words yet stands as it is stored."""
    return {
        "setup": language.gettext("first account made"),
        "sign_in": language.gettext("signed in"),
        "sign_in_failed": language.gettext("sign-in failed"),
        "sign_out": language.gettext("signed out"),
        "session_ended": language.gettext("session ended"),
        "sessions_ended": language.gettext("signed out everywhere"),
        "password_changed": language.gettext("password changed"),
        "password_check_failed": language.gettext("password check failed"),
        "password_reset": language.gettext("password reset"),
        "account_made": language.gettext("account made at the console"),
        "account_disabled": language.gettext("account disabled"),
        "account_enabled": language.gettext("account enabled"),
        "account_deleted": language.gettext("account deleted"),
        "role_raised": language.gettext("made an operator"),
        "role_lowered": language.gettext("made a user"),
        "invite_made": language.gettext("invite made"),
        "invite_revoked": language.gettext("invite revoked"),
        "invite_accepted": language.gettext("account made by invite"),
        "conversation_deleted": language.gettext("conversation deleted"),
        "conversation_expired": language.gettext("temporary conversation ended"),
        "conversation_aged_out": language.gettext("conversation deleted by the retention period"),
        "conversation_exported": language.gettext("conversation exported"),
        "all_data_exported": language.gettext("all data exported"),
        "table_exported": language.gettext("operator's table exported"),
        "turns_exported": language.gettext("turns of a conversation exported"),
        "conversation_imported": language.gettext("conversation imported"),
        "conversation_read": language.gettext("conversation read by an operator"),
        "messages_deleted": language.gettext("messages deleted"),
    }.get(action, action)


def _before(request: Request) -> UUID | None:
    try:
        return UUID(request.query_params.get("before", ""))
    except ValueError:
        return None
