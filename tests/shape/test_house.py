"""The limits of style, held against the code itself."""

import ast
from pathlib import Path

import lightwell
from lightwell.entrypoints.client.operations import Operations
from lightwell.entrypoints.http.app import SUBJECTS

ROOT = Path(__file__).parents[2]
SOURCE = sorted((ROOT / "src" / "lightwell").rglob("*.py"))
MOST_STATEMENTS, DEEPEST = 250, 3

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions() -> list[tuple[Path, Function]]:
    return [
        (path, node)
        for path in SOURCE
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def does_nothing(node: ast.stmt) -> bool:
    """Return whether it is a docstring, or the `...` of an interface."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def test_no_module_has_too_many_statements() -> None:
    """Statements and not lines: a module is cut where it has two subjects, not where its docstrings are long or many."""
    statements = {
        str(path): sum(
            isinstance(node, ast.stmt) and not does_nothing(node)
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
        )
        for path in SOURCE
    }
    assert {path: count for path, count in statements.items() if count > MOST_STATEMENTS} == {}


def test_no_folder_is_deep() -> None:
    deep = [
        path for path in SOURCE if len(path.relative_to(ROOT / "src" / "lightwell").parts) > DEEPEST
    ]
    assert deep == []


def test_only_settings_read_the_environment() -> None:
    readers = {
        path.name
        for path in SOURCE
        if any(word in path.read_text("utf-8") for word in ("os.environ", "getenv", "load_dotenv"))
    }
    writes = {"clusters.py", "fork_handlers.py"}  # they set what Ray and gRPC read when imported
    assert readers - writes <= {"settings.py", "source_secrets.py"}


def test_whatever_reads_for_a_person_takes_the_reader_by_position() -> None:
    """In the library's verbs a reader never has a default and is never keyword-only."""
    for path, node in functions():
        named = [
            *node.args.kwonlyargs,
            *node.args.args[len(node.args.args) - len(node.args.defaults) :],
        ]
        assert "reader" not in {argument.arg for argument in named}, f"{path}:{node.name}"


def test_the_public_face_names_what_is_there() -> None:
    assert [name for name in lightwell.__all__ if not hasattr(lightwell, name)] == []
    assert len(set(lightwell.__all__)) == len(lightwell.__all__)


def test_every_operation_is_a_method_of_the_clients() -> None:
    methods = list(vars(Operations).values())
    missing = [
        operation.run.__name__
        for subject in SUBJECTS
        for operation in subject.operations
        if not any(method is operation for method in methods)
    ]
    assert missing == []


def test_commands_ask_for_confirmation_outside_of_the_event_loop() -> None:
    """Inside it, the first Ctrl-C at the question does nothing."""
    coroutines = [
        node.name
        for _, node in functions()
        if isinstance(node, ast.AsyncFunctionDef)
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "confirm"
    ]
    assert coroutines == []


def test_rows_are_read_by_the_names_of_their_columns() -> None:
    numbered = [
        f"{path.name}:{node.lineno}"
        for path in SOURCE
        if path.relative_to(ROOT / "src" / "lightwell").parts[0] in ("records", "stores")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == "row"
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, int)
    ]
    assert numbered == [], "name the columns as the fields of a value, and read rows `into` it"
