"""What one user's requests cost and tell never depends on another's, whatever a caller adds to a request."""

from collections.abc import Iterator

import pytest

from inference_server.api.generation import cache_scope
from inference_server.text.tokenizer import TextTokenizer
from tests.inference_server.oracle_runner import OracleRunner
from tests.inference_server.scripted_server import END_ID, serve_scripted
from tests.inference_server.serving import Served, prompt_tokens, user

SYSTEM = "A system prompt that everybody has."
SECRET = [user("My secret is a blue whale in the garden pond.")]
ONE, TWO = {"user_id": "one"}, {"user_id": "two"}


@pytest.fixture
def runner() -> OracleRunner:
    return OracleRunner(4096, lambda _prefix: END_ID)


@pytest.fixture
def server(tiny_tokenizer: TextTokenizer, runner: OracleRunner) -> Iterator[Served]:
    with serve_scripted(tiny_tokenizer, runner) as served:
        yield served


def ask(server: Served, runner: OracleRunner, **fields: object) -> tuple[int, int]:
    """(tokens told as read, rows that were computed)."""
    before = runner.rows
    usage = server.ask(SECRET, system=SYSTEM, **fields)["usage"]
    assert prompt_tokens(usage) == server.count(SECRET, system=SYSTEM)
    return usage["cache_read_input_tokens"], runner.rows - before


def test_a_scope_frames_its_fields() -> None:
    pairs = [("org_1", "2345"), ("org_12345", ""), ("", "org_12345"), ("org_1\x00", "2345"), ("org_1", "\x002345")]
    assert len({cache_scope(*pair) for pair in pairs}) == len(pairs)
    assert all(len(cache_scope(*pair)) == 32 for pair in pairs)


def test_another_user_computes_all_and_the_same_user_nothing(server: Served, runner: OracleRunner) -> None:
    whole = server.count(SECRET, system=SYSTEM)
    assert ask(server, runner, metadata=ONE) == (0, whole)
    assert ask(server, runner, metadata=TWO) == (0, whole)
    assert ask(server, runner) == (0, whole)
    assert ask(server, runner, metadata=ONE) == (whole - 1, 1)


@pytest.mark.parametrize("salt", ["one", cache_scope("test-key", "one").hex()])
def test_a_salt_in_the_request_opens_and_closes_nothing(server: Served, runner: OracleRunner, salt: str) -> None:
    whole = server.count(SECRET, system=SYSTEM)
    ask(server, runner, metadata=ONE)
    salts = {"cache_salt": salt, "scope": salt, "user_id": salt, "user": salt}
    assert ask(server, runner, metadata={**TWO, "cache_salt": salt, "scope": salt}, **salts) == (0, whole)
    assert ask(server, runner, metadata={**ONE, "cache_salt": "other"}, cache_salt="other") == (whole - 1, 1)


def test_a_single_user_s_server_may_share_one_cache(tiny_tokenizer: TextTokenizer, runner: OracleRunner) -> None:
    with serve_scripted(tiny_tokenizer, runner, shared_cache=True) as server:
        ask(server, runner, metadata=ONE)
        assert ask(server, runner, metadata=TWO) == (server.count(SECRET, system=SYSTEM) - 1, 1)
