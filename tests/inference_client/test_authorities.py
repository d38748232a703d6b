"""Whom the client trusts where it speaks TLS."""

import ssl

import pytest

from inference_client.connection import authorities


@pytest.mark.parametrize(("base_url", "some"), [("https://models.example", True), ("http://127.0.0.1:8000", False)])
def test_certificates_are_always_asked_for_and_authorities_are_read_for_tls_alone(base_url: str, some: bool) -> None:
    context = authorities(base_url)
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert (context.cert_store_stats()["x509_ca"] > 0) is some
