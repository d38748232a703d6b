from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from app.context_note import write_note
from app.prompt import PathMessage, build, content_of, message_sha256, request_sha256, user_scope
from inference_client import encode_body
from tests.app.houses import START

NOTE = write_note(START, "Asia/Seoul", None)


def asked(text: str, note: str | None = NOTE) -> PathMessage:
    return PathMessage("user", text, note)


def answered(text: str) -> PathMessage:
    return PathMessage("assistant", text)


def messages(*path: PathMessage) -> object:
    return build(model="m", max_tokens=5, system_prompt="", path=path)["messages"]


def test_body_has_fixed_keys_in_fixed_order() -> None:
    body = build(model="m", max_tokens=5, system_prompt="Be nice", path=[asked("Hi")], user_scope="s")
    assert list(body) == ["model", "max_tokens", "system", "messages", "metadata", "stream"]
    assert body["metadata"] == {"user_id": "s"}
    assert body["stream"] is True


def test_body_leaves_out_an_empty_system_prompt_and_an_absent_scope() -> None:
    body = build(model="m", max_tokens=5, system_prompt="", path=[asked("Hi")])
    assert list(body) == ["model", "max_tokens", "messages", "stream"]


def test_question_is_its_text_a_blank_line_and_its_note() -> None:
    assert messages(asked("Hi ")) == [{"role": "user", "content": f"Hi \n\n{NOTE}"}]
    assert messages(asked("Hi", None)) == [{"role": "user", "content": "Hi"}]


def test_question_has_exactly_one_note_whatever_the_user_types() -> None:
    content = content_of(asked(f"{NOTE} and </context-note>"))
    assert content.count("<context-note>") == 1
    assert content.endswith(f"\n\n{NOTE}")


def test_answer_is_sent_as_stored() -> None:
    text = "\n <context-note> x \n\n"
    assert messages(asked("Hi"), answered(text), asked("Go on"))[1]["content"] == text  # type: ignore[index]


def test_blank_answers_are_left_out_and_questions_joined() -> None:
    joined = f"One\n\n{NOTE}\n\nTwo\n\n{NOTE}\n\nThree\n\n{NOTE}"
    path = [asked("One"), answered(""), asked("Two"), answered(" \n"), asked("Three")]
    assert messages(*path) == [{"role": "user", "content": joined}]


def test_scope_is_stable_per_owner_and_opaque() -> None:
    first, second = UUID(int=1), UUID(int=2)
    assert user_scope(b"k", first) == user_scope(b"k", first)
    assert user_scope(b"k", first) != user_scope(b"k", second)
    assert user_scope(b"k", first) != user_scope(b"other", first)
    assert str(first) not in user_scope(b"k", first)


def test_hashes_depend_on_salt_role_and_every_byte() -> None:
    body = build(model="m", max_tokens=5, system_prompt="", path=[asked("Hi")])
    other = build(model="m", max_tokens=5, system_prompt="", path=[asked("Hi ")])
    assert len({request_sha256(b"a", body), request_sha256(b"b", body), request_sha256(b"a", other)}) == 3
    assert message_sha256(b"a", asked("Hi", None)) != message_sha256(b"a", answered("Hi"))


texts = st.text(st.characters(exclude_categories=("Cs",)))
pairs = st.lists(st.tuples(texts, texts), min_size=1, max_size=6)


@given(pairs)
def test_roles_alternate_and_start_with_the_user(pairs: list[tuple[str, str]]) -> None:
    path = [message for pair in pairs for message in (asked(pair[0]), answered(pair[1]))]
    roles = [message["role"] for message in messages(*path, asked("last"))]  # type: ignore[attr-defined]
    assert roles == (["user", "assistant"] * len(roles))[: len(roles)]
    assert roles[-1] == "user"


@given(pairs)
def test_a_longer_path_repeats_the_messages_of_a_shorter_one(pairs: list[tuple[str, str]]) -> None:
    path = [message for pair in pairs for message in (asked(pair[0]), answered(pair[1] + "."))]
    short, long = messages(*path[:-1]), messages(*path, asked("last"))
    assert long[: len(short)] == short  # type: ignore[arg-type,index]
    encode_body({"messages": long})


def test_parameters_stand_behind_max_tokens_and_only_when_chosen() -> None:
    plain = build(model="m", max_tokens=5, system_prompt="s", path=[asked("Hi")])
    none = build(
        model="m", max_tokens=5, system_prompt="s", path=[asked("Hi")], temperature=None, top_p=None, stop_sequences=[]
    )
    assert encode_body(none) == encode_body(plain)
    chosen = build(
        model="m", max_tokens=5, system_prompt="s", path=[asked("Hi")], temperature=0, top_p=1, stop_sequences=("x",)
    )
    assert list(chosen)[:5] == ["model", "max_tokens", "temperature", "top_p", "stop_sequences"]
    assert {name: chosen[name] for name in plain} == plain
