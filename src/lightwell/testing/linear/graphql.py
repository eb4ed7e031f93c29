"""As much of GraphQL as the connector's queries use, without a schema: fields with arguments, variables and fragments."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from lightwell.text.regex import regex

Row = dict[str, object]
Resolve = Callable[[object, str, Mapping[str, object]], object]
"""From an object, a field and its arguments to the field's value: a scalar, an object, a list of these, or None."""

_TOKEN = regex(r"\.\.\.|[{}():!$,\[\]]|-?\d+|\w+")
_POINTS_OF_PROPERTY, _POINTS_OF_OBJECT, _DEFAULT_FIRST = 0.1, 1.0, 50


class NotUnderstood(Exception):
    """The text is not a query of the kind that this module reads."""


@dataclass(frozen=True, slots=True)
class Variable:
    name: str


@dataclass(frozen=True, slots=True)
class Selection:
    """A field, its arguments, and what is selected of an object; () for a scalar."""

    name: str
    arguments: Mapping[str, object]
    inner: tuple["Selection | Spread", ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """A fragment's fields stand here."""

    fragment: str


@dataclass(frozen=True, slots=True)
class Operation:
    """A query with the fragments beside it."""

    selections: tuple[Selection | Spread, ...]
    fragments: Mapping[str, tuple[Selection | Spread, ...]]

    def fields(self, selections: tuple[Selection | Spread, ...]) -> Iterator[Selection]:
        """Yield the fields, with those of fragments in their places."""
        for selection in selections:
            if isinstance(selection, Spread):
                yield from self.fields(self.fragments[selection.fragment])
            else:
                yield selection


def parse(text: str) -> Operation:
    """Return the one query of the text; raise `NotUnderstood`."""
    return _Reader(_TOKEN.findall(text)).read()


def execute(
    operation: Operation, root: object, variables: Mapping[str, object], resolve: Resolve
) -> Row:
    """Return the selected fields of the root object."""
    return _select(operation, operation.selections, root, (variables, resolve))


def measure_complexity(operation: Operation, variables: Mapping[str, object]) -> float:
    """Return the points that Linear counts: by property and object, times the size of each page."""
    return sum(
        _measure(operation, field, variables) for field in operation.fields(operation.selections)
    )


def _measure(operation: Operation, field: Selection, variables: Mapping[str, object]) -> float:
    if not field.inner:
        return _POINTS_OF_PROPERTY
    inner = sum(
        _measure(operation, inner_field, variables) for inner_field in operation.fields(field.inner)
    )
    is_connection = any(
        inner_field.name == "nodes" for inner_field in operation.fields(field.inner)
    )
    if not is_connection:
        return _POINTS_OF_OBJECT + inner
    first = _arguments(field, variables).get("first", _DEFAULT_FIRST)
    return _POINTS_OF_OBJECT + inner * (first if isinstance(first, int) else _DEFAULT_FIRST)


def _select(
    operation: Operation,
    selections: tuple[Selection | Spread, ...],
    value: object,
    context: tuple[Mapping[str, object], Resolve],
) -> Row:
    variables, resolve = context
    selected_fields: Row = {}
    for field in operation.fields(selections):
        inner = resolve(value, field.name, _arguments(field, variables))
        if field.inner and isinstance(inner, list):
            selected_fields[field.name] = [
                _select(operation, field.inner, element, context)
                for element in cast("list[object]", inner)
            ]
        elif field.inner and inner is not None:
            selected = _select(operation, field.inner, inner, context)
            selected_fields[field.name] = {
                **cast("Row", selected_fields.get(field.name, {})),
                **selected,
            }
        else:
            selected_fields[field.name] = inner
    return selected_fields


def _arguments(field: Selection, variables: Mapping[str, object]) -> dict[str, object]:
    """Return the field's arguments with the values of variables; one without a value is left out."""
    arguments = {
        name: variables.get(value.name) if isinstance(value, Variable) else value
        for name, value in field.arguments.items()
    }
    return {name: value for name, value in arguments.items() if value is not None}


class _Reader:
    """Reads tokens from left to right."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def read(self) -> Operation:
        query: tuple[Selection | Spread, ...] | None = None
        fragments: dict[str, tuple[Selection | Spread, ...]] = {}
        while self._at < len(self._tokens):
            match self._next():
                case "query":
                    self._next()
                    if self._peek() == "(":
                        self._skip_parentheses()
                    query = self._selections()
                case "fragment":
                    name = self._next()
                    self._expect("on")
                    self._next()
                    fragments[name] = self._selections()
                case token:
                    raise NotUnderstood(token)
        if query is None:
            raise NotUnderstood("no query")
        return Operation(query, fragments)

    def _selections(self) -> tuple[Selection | Spread, ...]:
        self._expect("{")
        selections: list[Selection | Spread] = []
        while self._peek() != "}":
            name = self._next()
            if name == "...":
                selections.append(Spread(self._next()))
                continue
            arguments = self._read_arguments() if self._peek() == "(" else {}
            inner = self._selections() if self._peek() == "{" else ()
            selections.append(Selection(name, arguments, inner))
        self._expect("}")
        return tuple(selections)

    def _read_arguments(self) -> dict[str, object]:
        self._expect("(")
        values: dict[str, object] = {}
        while self._peek() != ")":
            name = self._next()
            self._expect(":")
            values[name] = self._value()
            if self._peek() == ",":
                self._next()
        self._expect(")")
        return values

    def _value(self) -> object:
        word = self._next()
        if word == "$":
            return Variable(self._next())
        if word in ("true", "false"):
            return word == "true"
        return int(word) if word.lstrip("-").isdecimal() else word

    def _skip_parentheses(self) -> None:
        while self._next() != ")":
            pass

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        if not token:
            raise NotUnderstood("the text ends too early")
        self._at += 1
        return token

    def _expect(self, token: str) -> None:
        if self._next() != token:
            raise NotUnderstood(f"{token} is missing")
