"""docs/audit.md names exactly the actions that the code writes into the audit log, and the page has words for each."""

import ast
import re
from pathlib import Path

from app.web.audit_page import action_words
from app.web.languages import load_languages

ROOT = Path(__file__).parents[1]
ACTION = re.compile(r"[a-z_]+")


def written_actions() -> set[str]:
    """Names in lower case among the arguments of whatever makes a line of the log, or that chooses one."""
    found: set[str] = set()
    for path in (ROOT / "app").rglob("*.py"):
        tree = WithConstants().visit(ast.parse(path.read_text()))
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id="record"), args=[_, _, _, action, *_]):
                    found |= strings_in(action)
                case ast.Call(func=ast.Attribute(attr="_audit"), args=[action, *_]):
                    found |= strings_in(action)
                case ast.Call(func=ast.Name(id="AuditEntry"), keywords=keywords):
                    found |= {each for word in keywords if word.arg == "action" for each in strings_in(word.value)}
                case ast.Assign(targets=[ast.Name(id="action")], value=value):
                    found |= strings_in(value)
    return found


class WithConstants(ast.NodeTransformer):
    """Puts the strings that a module names in capitals in the places of their names."""

    def __init__(self) -> None:
        self.constants: dict[str, ast.Constant] = {}

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str()) as value):
                self.constants[name] = value
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                for name, value in zip(names, values, strict=True):
                    if isinstance(name, ast.Name) and isinstance(value, ast.Constant):
                        self.constants[name.id] = value
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.constants.get(node.id, node) if node.id.isupper() and isinstance(node.ctx, ast.Load) else node


def strings_in(tree: ast.AST) -> set[str]:
    inside = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    conditions = {
        node.value
        for choice in ast.walk(tree)
        if isinstance(choice, ast.IfExp)
        for node in ast.walk(choice.test)
        if isinstance(node, ast.Constant)
    }
    return {str(each) for each in inside - conditions if isinstance(each, str) and ACTION.fullmatch(each)}


def test_every_action_is_documented_and_every_documented_one_is_written() -> None:
    documented = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "audit.md").read_text(), re.MULTILINE))
    assert documented == written_actions()
    assert len(documented) > 15


def test_every_action_has_words_and_a_name_that_fits_its_column() -> None:
    languages = load_languages()
    for action in written_actions():
        assert len(action) <= 32
        assert len({action, action_words(action, languages["en"]), action_words(action, languages["ko"])}) == 3, action
