import pytest

from inference_client import encode_body


def test_body_is_compact_and_in_its_own_order() -> None:
    body = {"z": 1, "a": [True, None, 1.5], "system": '서울 \u2028 \U0001f469 \x7f "\\ \n\x0b'}
    assert encode_body(body) == (
        '{"z":1,"a":[true,null,1.5],"system":"서울 \u2028 \U0001f469 \x7f \\"\\\\ \\n\\u000b"}'.encode()
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
def test_body_that_is_no_json_is_refused(value: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - The words are those of the standard library.
        encode_body({"value": value})


def test_body_with_other_objects_is_refused() -> None:
    with pytest.raises(TypeError):
        encode_body({"value": object()})
