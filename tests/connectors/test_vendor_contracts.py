"""What the connectors ask, and what the stand-ins answer, held against the official OpenAPI documents.

`DEVIATIONS` lists where a document and the vendor's server differ, with what the server's code says.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import cast

import httpx
import jsonschema_rs
import pytest

from lightwell.connectors.attio.source import open_attio
from lightwell.connectors.chatwoot.source import open_chatwoot
from lightwell.domain.ids import GlobalRef
from lightwell.testing import attio, chatwoot
from lightwell.testing.attio_server import make_attio_app
from lightwell.testing.chatwoot_server import make_chatwoot_app
from tests.attio_world import Halden
from tests.chatwoot_world import Support, read_memory
from tests.connectors.pulling import Shelf, in_parts

pytestmark = pytest.mark.shared

SHARED = Path(os.environ.get("LIGHTWELL_TEST_SHARED", Path(__file__).parents[3] / "shared"))
ATTIO = SHARED / "contracts" / "attio" / "openapi-2025-11-18.json"
CHATWOOT = SHARED / "contracts" / "chatwoot" / "swagger-4.15.1.json"
Json = dict[str, object]

DEVIATIONS = {
    # Chatwoot's document lacks these; its routes and finders have them (release 4.15.1).
    "GET /api/v1/accounts/{account_id}/conversations sort_by": "parameter of ConversationFinder",
    "GET /api/v1/accounts/{account_id}/conversations updated_within": "parameter of ConversationFinder",
    "GET /api/v1/accounts/{account_id}/contacts/{id}/notes": "a route since 1.x",
    "GET /api/v1/accounts/{account_id}/companies": "a route of paid plans, answered with 404 by others",
    "GET /api/v1/accounts/{account_id}/companies/{id}": "a route of paid plans",
    "GET /api/v1/accounts/{account_id}/portals/{id}/articles": "a route; the document has only its POST",
    # The server sends null for a message that has only attachments, and several attachments.
    "GET /api/v1/accounts/{account_id}/conversations/{conversation_id}/messages /content": "null",
    # The contact of an answer has null where the document says text.
    "GET /api/v1/accounts/{account_id}/conversations /content": "null, in the last message",
    "GET /api/v1/accounts/{account_id}/conversations/{conversation_id} /content": "null, in the last message",
}


@dataclass(slots=True)
class Recorder(httpx.AsyncBaseTransport):
    """Passes requests on, and keeps them with their answers."""

    inner: httpx.AsyncBaseTransport
    seen: list[tuple[httpx.Request, httpx.Response]] = field(
        default_factory=list[tuple[httpx.Request, httpx.Response]]
    )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self.inner.handle_async_request(request)
        await response.aread()
        self.seen.append((request, response))
        return in_parts(response)


@dataclass(frozen=True, slots=True)
class Contract:
    """An OpenAPI document; legal nulls are written as the newest JSON Schema writes them."""

    document: Json

    def problems(self, request: httpx.Request, response: httpx.Response) -> Iterator[str]:
        """Yield what a request or its answer does that the document does not allow."""
        path, method = request.url.path, request.method.lower()
        templates = [name for name in self._paths if _fits(name, path)]
        if not templates:
            yield f"{request.method} {_template(path)}"
            return
        template = min(templates, key=lambda name: name.count("{"))
        operations = cast("Mapping[str, Json]", self._paths[template])
        name = f"{request.method} {template}"
        if method not in operations:
            yield name
            return
        operation = operations[method]
        yield from self._unknown_parameters(name, operations, operation, request)
        yield from self._bad_body(name, operation, request)
        yield from self._bad_answer(name, operation, response)

    @property
    def _paths(self) -> Mapping[str, object]:
        return cast("Mapping[str, object]", self.document["paths"])

    def _unknown_parameters(
        self, name: str, operations: Mapping[str, object], operation: Json, request: httpx.Request
    ) -> Iterator[str]:
        listed = [*_list(operations.get("parameters")), *_list(operation.get("parameters"))]
        parameters = {str(each["name"]): each for each in map(self._resolve, listed)}
        for given, value in request.url.params.items():
            if given not in parameters:
                yield f"{name} {given}"
                continue
            schema = cast("Json", parameters[given].get("schema", {}))
            typed = int(value) if schema.get("type") == "integer" else value
            if not self._is_valid(schema, typed):
                yield f"{name} {given}={value}"

    def _bad_body(self, name: str, operation: Json, request: httpx.Request) -> Iterator[str]:
        body = cast("Json | None", operation.get("requestBody"))
        if body:
            yield from self._violations(name, _schema_of(body), json.loads(request.content))

    def _bad_answer(self, name: str, operation: Json, response: httpx.Response) -> Iterator[str]:
        responses = cast("Mapping[str, Json]", operation["responses"])
        declared = responses.get(str(response.status_code))
        if declared is None:
            yield f"{name} status {response.status_code}"
        elif "content" in declared and response.status_code == 200:
            yield from self._violations(name, _schema_of(declared), response.json())

    def _resolve(self, parameter: Json) -> Json:
        reference = parameter.get("$ref")
        if not isinstance(reference, str):
            return parameter
        found = self.document
        for part in reference.removeprefix("#/").split("/"):
            found = cast("Json", found[part])
        return found

    def _violations(self, name: str, schema: Json, value: object) -> Iterator[str]:
        validator = jsonschema_rs.Draft202012Validator(self._complete(schema))
        for error in validator.iter_errors(value):
            where = "/".join(str(each) for each in error.instance_path if isinstance(each, str))
            known = f"{name} /{where.rpartition('/')[2]}"
            yield known if known in DEVIATIONS else f"{name} {where}: {error.message[:200]}"

    def _is_valid(self, schema: Json, value: object) -> bool:
        return jsonschema_rs.is_valid(self._complete(schema), value)

    def _complete(self, schema: Json) -> Json:
        return {**schema, "components": self.document["components"]}


def _fits(template: str, path: str) -> bool:
    return re.fullmatch(re.sub(r"\{[^}]+\}", "[^/]+", template), path) is not None


def _template(path: str) -> str:
    """Return the template of a path that no document has, with the names that Chatwoot gives its parameters."""
    path = re.sub(r"/accounts/\d+", "/accounts/{account_id}", path)
    path = re.sub(r"/portals/[^/]+", "/portals/{id}", path)
    return re.sub(r"/\d+", "/{id}", path)


def _schema_of(part: Json) -> Json:
    content = cast("Mapping[str, Json]", part["content"])
    return cast("Json", next(iter(content.values()))["schema"])


def _list(value: object) -> list[Json]:
    return cast("list[Json]", value or [])


def allow_nulls(schema: object) -> object:
    """Return a document in which `nullable`, which OpenAPI 3.1 no longer has, means what its author meant."""
    if isinstance(schema, list):
        return [allow_nulls(each) for each in cast("list[object]", schema)]
    if not isinstance(schema, dict):
        return schema
    fixed = {name: allow_nulls(value) for name, value in cast("Json", schema).items()}
    if fixed.pop("nullable", False) is True:
        return {"anyOf": [fixed, {"type": "null"}]}
    return fixed


@cache
def load_contract(path: Path) -> Contract:
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return Contract(cast("Json", allow_nulls(json.loads(path.read_text("utf-8")))))


def problems(contract: Contract, recorder: Recorder) -> set[str]:
    return {
        problem
        for request, response in recorder.seen
        for problem in contract.problems(request, response)
    }


async def test_attio_answers_as_its_document_says() -> None:
    contract, halden, shelf = load_contract(ATTIO), Halden(), Shelf()
    halden.attio.add_comment(halden.nordwind, "On the entry.", halden.bob, halden.entry)
    recorder = Recorder(httpx.ASGITransport(make_attio_app(halden.attio)))
    async with open_attio({}, attio.TOKEN, attio.SECRET, recorder) as source:
        await source.directory()
        await shelf.sync(source)
        await shelf.sweep(source)
        await shelf.fetch(source, [*shelf.documents, GlobalRef("attio:note:" + halden.deal)])
    assert len({request.url.path for request, _ in recorder.seen}) > 25
    assert problems(contract, recorder) == set()


async def test_chatwoot_answers_as_its_document_and_its_code_say() -> None:
    contract, support, shelf = load_contract(CHATWOOT), Support(), Shelf()
    support.chatwoot.add_portal("help", "Help")
    article = support.chatwoot.add_article("help", "Reset", "text", author=support.bob)
    voice = support.chatwoot.add_message(support.talk, None, ("contact", support.petra))
    support.chatwoot.attach(voice, "voice.ogg", b"OggS", file_type="audio")
    recorder = Recorder(httpx.ASGITransport(make_chatwoot_app(support.chatwoot)))
    options = {"base_url": "http://chat.test", "account": "1"}
    async with open_chatwoot(options, chatwoot.TOKEN, chatwoot.SECRET, recorder) as source:
        source.read_file = read_memory
        source.now = lambda: support.now
        await source.directory()
        await shelf.sync(source)
        await shelf.sync(source)
        await shelf.sweep(source)
        await shelf.fetch(source, [*shelf.documents, GlobalRef(f"chatwoot:article:{article}")])
    assert problems(contract, recorder) - DEVIATIONS.keys() == set()
