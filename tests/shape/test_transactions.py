"""A transaction that loses to another is repeated: whoever writes in one may run again from its start, or says why not."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "lightwell"

NOT_REPEATED = {
    "ingest/pipeline.py": "the worker gives the batch back, and its steps are repeated",
    "records/conversations.py:recall": "it reads",
    "records/conversations.py:list_turns": "it reads",
    "records/graph/entities.py:_entities": "it reads",
    "records/graph/merges.py:load_trees_by_class": "it reads",
    "stores/postgres/profiles.py:nearest": "it reads",
    "stores/postgres/vectors.py:nearest": "it reads",
    "stores/postgres/profiles.py:prepare": "it makes a table under a lock of its own, once",
    "stores/postgres/vectors.py:prepare": "it makes a table under a lock of its own, once",
}
"""`module` or `module:function` and the reason."""


def opens_transaction(node: ast.AST) -> bool:
    return any(
        isinstance(each, ast.Attribute)
        and each.attr in ("transaction", "step")
        and ast.unparse(each.value).endswith("database")
        for item in ast.walk(node)
        if isinstance(item, ast.AsyncWith)
        for part in item.items
        for each in ast.walk(part.context_expr)
    )


def writers() -> Iterator[tuple[str, str, bool]]:
    """Yield each function that opens a transaction, and whether it is repeated."""
    for path in sorted(SOURCE.rglob("*.py")):
        module = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.AsyncFunctionDef) and opens_transaction(node):
                marks = [ast.unparse(each) for each in node.decorator_list]
                yield module, node.name, "repeatable" in marks


def test_whoever_opens_a_transaction_is_repeated_or_says_why_not() -> None:
    unmarked = {
        f"{module}:{name}"
        for module, name, repeated in writers()
        if not repeated and not {module, f"{module}:{name}"} & set(NOT_REPEATED)
    }
    assert unmarked == set(), "mark it @repeatable, or add it to NOT_REPEATED with the reason"


def test_no_exception_outlives_its_function() -> None:
    used = {
        name
        for module, call, done in writers()
        if not done
        for name in (module, f"{module}:{call}")
    }
    assert set(NOT_REPEATED) - used == set()


def test_the_transactions_are_found_at_all() -> None:
    assert len(list(writers())) > 20
