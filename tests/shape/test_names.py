"""Values are named for what they are: no loop variable, local or parameter has a participle or a pronoun for a name."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
NO_NAMES = frozenset("each found own held said asked known at one given told".split())
OF_A_REQUEST = {"lightwell/entrypoints/operations/corrections.py": {"one"}}
"""Parameters that are keys of a request, which stay as they are."""


def names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the names of loop variables, locals and parameters with their lines; not those of fields."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        if not (isinstance(tree, ast.ClassDef) and isinstance(node, ast.AnnAssign)):
            yield from names(node)


def test_values_are_named_for_what_they_are() -> None:
    wrong = [
        f"{file}:{line}: {name}"
        for path in SOURCE.rglob("*.py")
        for file in [path.relative_to(SOURCE).as_posix()]
        for name, line in names(ast.parse(path.read_text("utf-8")))
        if name in NO_NAMES - OF_A_REQUEST.get(file, set())
    ]
    assert not wrong, "\n".join(wrong)
