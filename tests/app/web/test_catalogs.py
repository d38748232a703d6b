"""No visible string without its Korean words, none left over, and the compiled catalog in step."""

import ast
import re
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po

from app.web.languages import LOCALE_FOLDER
from app.web.problem_words import without_numbers
from app.web.sentences import SENTENCES

ROOT = Path(__file__).parents[3]
CATALOG = LOCALE_FOLDER / "ko" / "LC_MESSAGES" / "recount.po"
SAYING = {"InvalidInput", "Conflict", "NotAllowed", "TooMany", "Ending", "UnfitFile", "Allowed"}
HANGUL = re.compile("[가-힣]")


def key_of(message: Message) -> str:
    return message.id if isinstance(message.id, str) else message.id[0]


def words_of(message: Message) -> list[str]:
    return [message.string] if isinstance(message.string, str) else list(message.string)


def korean() -> Catalog:
    with CATALOG.open("rb") as file:
        return read_po(file, locale="ko", domain="recount")


def test_korean_has_every_string_of_the_source_and_no_other() -> None:
    with (LOCALE_FOLDER / "babel.cfg").open() as file:
        methods, options = parse_mapping_cfg(file)
    keywords = {**DEFAULT_KEYWORDS, "marked": None}
    found = {
        text[0] if isinstance(text, tuple) else text
        for _, _, text, _, _ in extract_from_dir(str(ROOT), methods, options, keywords=keywords)
    }
    assert len(found) > 100
    assert found == {key_of(message) for message in korean() if message.id}


def test_korean_is_korean_and_keeps_the_placeholders() -> None:
    placeholder = re.compile(r"%\(\w+\)s|\{\w+\}")
    for message in korean():
        if not message.id:
            continue
        singular, words = key_of(message), words_of(message)[0]
        assert HANGUL.search(words) or singular == "%(seconds)s s", singular
        assert sorted(placeholder.findall(words)) == sorted(placeholder.findall(singular)), singular
        assert not message.fuzzy


def test_compiled_catalog_is_in_step() -> None:
    with CATALOG.with_suffix(".mo").open("rb") as file:
        compiled = read_mo(file)
    expected = {key_of(message): words_of(message) for message in korean() if message.id}
    assert {key_of(message): words_of(message) for message in compiled if message.id} == expected


def test_sentences_are_exactly_those_that_the_services_say() -> None:
    said = set()
    for folder in ("auth", "conversations", "turns"):
        for path in (ROOT / "app" / folder).glob("*.py"):
            said |= sentences_in(ast.parse(path.read_text()))
    assert said == SENTENCES


def sentences_in(tree: ast.AST) -> set[str]:
    """Sentences that errors and endings are made with; placeholders become %(n1)s, %(n2)s."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in SAYING:
                found |= {sentence(argument) for argument in node.args}
            case ast.Assign(targets=[ast.Name(id="message")], value=value):
                found.add(sentence(value))
            case ast.Tuple(elts=[ast.Attribute(), ast.Constant(), last]):
                found.add(sentence(last))
    return {each for each in found if each.endswith(".")}


def sentence(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(words)):
            return without_numbers(words)[0]
        case ast.JoinedStr(values=values):
            words = "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in values)
            return without_numbers(words)[0]
    return ""
