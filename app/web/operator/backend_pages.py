"""The backends as they stand now, and what the doctor said of them. Operators alone have this page."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.web.operator.backend_health import backend_states
from app.web.operator.backend_words import cells_of
from app.web.operator.doctor_words import report_cells
from app.web.operator_pages import operator_of
from app.web.pages import pages_of
from app.web.visit import house_of, visit_of

RELOAD_S = 3


async def backends(request: Request) -> Response:
    operator_of(request)
    house, visit = house_of(request), visit_of(request)
    report, running = await house.rounds.last(), house.rounds.running
    states = await backend_states(house)
    return pages_of(request).response(
        request,
        "operator/backends.html",
        headers={"refresh": str(RELOAD_S)} if running else None,
        backends=[cells_of(state, visit.language, visit.time_zone) for state in states],
        report=report_cells(report, visit.language, visit.time_zone) if report else None,
        running=running,
    )


async def run_doctor(request: Request) -> Response:
    """The page that comes loads itself again until the end."""
    operator_of(request)
    house_of(request).rounds.begin()
    return RedirectResponse("/operator/backends#doctor", 303)
