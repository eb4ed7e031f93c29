"""Linear's official schema over the state of a workspace: every query is validated and executed against it."""

import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import cast

import graphql
import pytest
from graphql import (
    ExecutionResult,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLResolveInfo,
    GraphQLScalarType,
    GraphQLSchema,
    build_schema,
    is_enum_type,
)

from lightwell.testing.linear.graphql import Row
from lightwell.testing.linear.workspace import LinearWorkspace

_SHARED = Path(os.environ.get("LIGHTWELL_TEST_SHARED", Path(__file__).parents[2] / "shared"))
SDL = _SHARED / "contracts" / "linear" / "schema.graphql"
_SCALARS: Mapping[str, object] = {
    "String": "",
    "ID": "none",
    "Int": 0,
    "Float": 0.0,
    "Boolean": False,
    "DateTime": "2026-11-02T09:00:00.000Z",
    "JSONObject": {},
    "JSON": {},
}


@cache
def schema() -> GraphQLSchema:
    """The schema; the test is skipped without it."""
    if not SDL.exists():
        pytest.skip(f"Linear's schema is not there: {SDL}")
    return build_schema(SDL.read_text("utf-8"), assume_valid=True)


def run_with_schema(workspace: LinearWorkspace, query: str, variables: Mapping[str, object]) -> Row:
    """Return the response of a server that has the schema."""

    def resolve(value: object, info: GraphQLResolveInfo[object], **arguments: object) -> object:
        given = {name: each for name, each in arguments.items() if each is not None}
        found = workspace.resolve(value, info.field_name, given)
        return _default(info) if found is None else found

    run = cast("Callable[..., ExecutionResult]", graphql.graphql_sync)
    result = run(
        schema(),
        query,
        root_value=workspace,
        variable_values=dict(variables),
        field_resolver=resolve,
    )
    return cast("Row", result.formatted)


def _default(info: GraphQLResolveInfo[object]) -> object:
    """Return a value for a field that may not be null and that the workspace does not have."""
    if not isinstance(info.return_type, GraphQLNonNull):
        return None
    inner = cast("object", info.return_type.of_type)
    if isinstance(inner, GraphQLList):
        return []
    if isinstance(inner, GraphQLScalarType):
        return _SCALARS.get(inner.name, "")
    if is_enum_type(inner):
        return next(iter(inner.values))
    name = inner.name if isinstance(inner, GraphQLObjectType) else ""
    if name.endswith("Connection"):
        info_row = {"hasNextPage": False, "hasPreviousPage": False}
        return {"__typename": name, "nodes": [], "edges": [], "pageInfo": info_row}
    return {"__typename": name, "id": "none"}
