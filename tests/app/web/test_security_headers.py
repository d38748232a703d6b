"""Headers of every kind of answer, and what may be cached or compressed."""

import re

import pytest

from app.web.assets import contents_version
from tests.app.web.conftest import OpenSite
from tests.app.web.site import Site
from tests.app.web.visitor import Visitor

NONCE = re.compile(r"script-src 'nonce-([\w-]+)'")


def test_every_page_has_its_own_nonce_and_no_loophole(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Hello")
    reference = path.rsplit("/", 1)[1]
    pages = ["/", path, f"{path}/delete", "/operator/conversations", f"/operator/conversations/{reference}"]
    pages += ["/setup", "/nowhere", "/health", "/sign-in"]
    nonces = set()
    for page in pages:
        response = mina.open(page)
        policy = response.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert "img-src 'self' data:" in policy
        assert "frame-ancestors 'none'" in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "same-origin"
        assert response.headers["cache-control"] == "no-store"
        assert "strict-transport-security" not in response.headers
        found = NONCE.search(policy)
        assert found is not None
        nonces.add(found[1])
        scripts = re.findall(r"<script[^>]*>", response.text)
        assert all(f'nonce="{found[1]}"' in script for script in scripts)
        assert bool(scripts) is response.headers.get("content-type", "").startswith("text/html")
    assert len(nonces) == len(pages)


def test_pages_have_nothing_inline(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Hello")
    for page in ("/", path, f"/operator{path}"):
        text = mina.open(page).text
        assert not re.search(r"<[^>]+\s(style|on\w+)=", text)
        assert "<style" not in text
        assert "javascript:" not in text


def test_static_files_are_kept_for_ever_and_missing_ones_are_not(site: Site) -> None:
    visitor = site.visitor()
    folder = f"/static/{contents_version()}"
    found = visitor.open(f"{folder}/css/recount.css")
    assert found.status_code == 200
    assert found.headers["cache-control"] == "public, max-age=31536000, immutable"
    for path in (f"{folder}/none.css", "/static/older/css/recount.css"):
        missing = visitor.open(path)
        assert (missing.status_code, missing.headers["cache-control"]) == (404, "no-store")


def test_pages_and_static_files_are_compressed(site: Site) -> None:
    visitor = site.visitor()
    for path in ("/setup", f"/static/{contents_version()}/css/recount.css"):
        assert visitor.open(path, accept_encoding="gzip").headers["content-encoding"] == "gzip"


def test_foreign_host_names_are_refused(open_site: OpenSite) -> None:
    site = open_site(trusted_hosts=("127.0.0.1",))
    visitor = site.visitor()
    assert visitor.open("/health").status_code == 200
    refused = visitor.open("/health", host="evil.example")
    assert refused.status_code == 400
    assert "content-security-policy" in refused.headers


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_health_is_cheap_and_open(site: Site, method: str) -> None:
    response = site.visitor().client.request(method, "/health")
    assert response.status_code == 200
    assert response.text == ('{"status":"ok"}' if method == "GET" else "")
