"""Requests made from the OpenAPI document itself, sound and broken ones: no server error, nothing undeclared in a reply.

`make fuzz` makes more of them.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import jsonschema_rs
import pytest
import pytest_asyncio
import requests
import schemathesis
import schemathesis.checks
import schemathesis.specs.openapi.checks
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from schemathesis.generation import GenerationMode

from lightwell.domain.api_keys import Scope
from lightwell.entrypoints.http.app import create_app
from lightwell.settings import Settings
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, open_site
from tests.generation import examples

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


@schemathesis.serializer("application/x-ndjson")
def as_lines(context: Any, value: Any) -> bytes:
    """Return a body of lines, which a text is already."""
    del context
    return (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "replace")


GENERAL: Any = schemathesis.checks
OPENAPI: Any = schemathesis.specs.openapi.checks
CHECKS: list[Any] = [
    GENERAL.not_a_server_error,
    OPENAPI.status_code_conformance,
    OPENAPI.content_type_conformance,
    OPENAPI.response_headers_conformance,
    OPENAPI.response_schema_conformance,
]
ACT_AS = "X-Lightwell-Act-As"
DOCUMENT = create_app(Settings(database_url=SecretStr("postgresql://unused"))).openapi()
SCHEMA: Any = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS: dict[str, Any] = {
    operation.label: operation for operation in (each.ok() for each in SCHEMA.get_all_operations())
}
HELD = {
    "source": "wiki",
    "name": "Jane Smith",
    "group": "sales",
    "person": "ada",
    "project": "default",
}
"""Path parameters that name something, since random ones never do."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(databases: Databases) -> AsyncIterator[Site]:
    document = make_document("a.md", "Jane Smith met Nordwind in Tarn Valley.", ["team:us"])
    with databases.lent() as url:
        async with open_site(url) as opened:
            await opened.kb.ingestion.ingest(InMemorySource(documents=(document,)))
            made = {"name": "wiki", "system": "push"}
            await opened.request("POST", "/v1/sources", scopes=(Scope.ADMIN,), json=made)
            yield opened


def requests_to(operation: Any, mode: GenerationMode) -> st.SearchStrategy[Any]:
    """Return requests to an operation; half of the sound ones name what is there."""
    wanted = {each.name for each in operation.path_parameters} & HELD.keys()
    random = operation.as_strategy(generation_mode=mode)
    if mode is not GenerationMode.POSITIVE or not wanted:
        return random
    held = operation.as_strategy(path_parameters={name: HELD[name] for name in wanted})
    return st.one_of(held, random)


async def send(site: Site, case: Any) -> httpx.Response:
    """Send a request as an administrator who acts for nobody."""
    wanted = case.as_transport_kwargs(base_url="http://localhost")
    wanted["headers"].pop(ACT_AS, None)
    key = await site.key("team:us", scopes=(Scope.ADMIN,))
    wanted["headers"]["Authorization"] = f"Bearer {key}"
    made: Any = requests.Request(**wanted).prepare()
    return await site.client.request(
        made.method, made.url, content=made.body or b"", headers={**made.headers}
    )


def modes(operation: Any) -> list[GenerationMode]:
    """Return how requests may be made: what takes nothing cannot be asked wrongly."""
    takes = [*operation.path_parameters, *operation.query, *operation.headers, *operation.body]
    return [*GenerationMode] if takes else [GenerationMode.POSITIVE]


def examples_of(operation: Any) -> Iterator[tuple[Any, object]]:
    """Yield the schema and the example of every parameter and body of an operation, and of its reply."""
    raw = operation.definition.raw
    for parameter in raw.get("parameters", ()):
        if "example" in parameter:
            yield parameter["schema"], parameter["example"]
    replies = (reply for status, reply in raw["responses"].items() if status.startswith("2"))
    for body in (raw.get("requestBody", {}), *replies):
        content = body.get("content", {}).get("application/json")
        if content is not None:
            yield content["schema"], content["example"]


async def test_every_operation_has_an_example_that_its_schema_allows() -> None:
    for operation in OPERATIONS.values():
        found = [*examples_of(operation)]
        assert found or "application/json" not in str(operation.definition.raw["responses"])
        for schema, example in found:
            whole = {**schema, "components": DOCUMENT["components"]}
            jsonschema_rs.validate(whole, example)


# Hypothesis draws in a thread. The server's own thread may use `random` meanwhile, and Hypothesis takes that for ours.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
@pytest.mark.parametrize("label", OPERATIONS)
async def test_no_reply_is_a_server_error_or_undeclared(site: Site, label: str) -> None:
    loop, operation = asyncio.get_running_loop(), OPERATIONS[label]
    made = [requests_to(operation, mode) for mode in modes(operation)]

    @examples(4)
    @given(st.one_of(made))
    def check(case: Any) -> None:
        reply = asyncio.run_coroutine_threadsafe(send(site, case), loop).result()
        case.validate_response(reply, checks=CHECKS)

    await asyncio.to_thread(check)
