"""``recount doctor`` at the bundled server: nothing to complain of, and nothing left behind."""

import pytest

from app.doctor import Patience
from app.doctor.examination import examine
from app.settings import Backend
from tests.inference_server.serving import KEY, Served

pytestmark = [pytest.mark.anyio, pytest.mark.model]
CHECKS = {"reachable", "models", "streaming", "message_start", "usage", "cache", "diagnostics", "isolation"} | {
    "inspection",
    "prefill",
    "markers",
    "forget",
}


async def test_all_is_well_at_the_bundled_server(bundled: Served) -> None:
    before = bundled.http.get("/v1/cache").json()
    served = Backend(
        name="bundled",
        base_url=bundled.url,
        api_key=KEY,
        early_message_start=True,
        prefill=True,
        diagnostics=True,
        inspection=True,
        forgets=True,
    )
    findings = (await examine(served, Patience(answer=120))).findings
    assert {finding.check: finding.english for finding in findings if finding.state != "ok"} == {}
    assert {finding.check for finding in findings} == CHECKS
    after = bundled.http.get("/v1/cache").json()
    assert (after["records"], after["scopes"]) == (before["records"], before["scopes"])
