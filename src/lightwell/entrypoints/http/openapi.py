"""The OpenAPI document: FastAPI's, with an example of each operation, and the problem documents that it may answer with."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from lightwell.entrypoints.http.examples import add_examples
from lightwell.entrypoints.http.problems import CONTENT_TYPE, Problem
from lightwell.entrypoints.http.request_trail import RequestTrail

_OF_EVERY_OPERATION: Mapping[str, str] = {
    "404": "It does not exist, or you may not see it",
    "421": "The server does not answer to the name in `Host`",
    "422": "The request is invalid; `detail` says how to correct it",
    "429": "Too many requests, or the token budget is used up",
    "502": "A model or a source failed",
    "503": "The database or a model is busy or unavailable",
}
_OF_PROTECTED_OPERATIONS: Mapping[str, str] = {
    "401": "No valid API key, session or link",
    "403": "The key has not the scope, or another page than the server's own sent the browser's session",
}
_OF_OPERATIONS_WITH_A_BODY: Mapping[str, str] = {
    "400": "The body is not in the form that its type names",
    "408": "The body did not arrive in time",
    "413": "The body is too large",
}
SIGN_IN = "sign-in"
"""The section of what browsers call before they have a session."""

_EVENTS = "text/event-stream"
_SCHEMA = "Problem"


class Application(FastAPI):
    """FastAPI with our OpenAPI document and a trail of each request. What a route declares itself is kept."""

    def build_middleware_stack(self) -> ASGIApp:
        """Return the application inside what follows each request, errors of the framework included."""
        return RequestTrail(super().build_middleware_stack())

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            document = super().openapi()
            add_problems(document)
            add_examples(document)
        return super().openapi()


def add_problems(document: dict[str, Any]) -> None:
    """Declare the problem documents in an OpenAPI document, instead of FastAPI's own error."""
    schemas: dict[str, Any] = document.setdefault("components", {}).setdefault("schemas", {})
    for replaced in ("HTTPValidationError", "ValidationError"):
        schemas.pop(replaced, None)
    schemas[_SCHEMA] = Problem.model_json_schema(by_alias=True)
    for operations in document["paths"].values():
        for operation in operations.values():
            responses: dict[str, Any] = operation["responses"]
            # OpenAPI 3.1 has no form for events; they are not one string.
            for response in responses.values():
                response.get("content", {}).get(_EVENTS, {}).pop("schema", None)
            if "HTTPValidationError" in str(responses.get("422")):
                del responses["422"]
            problems = dict(_OF_EVERY_OPERATION)
            if "security" in operation or SIGN_IN in operation["tags"]:
                problems.update(_OF_PROTECTED_OPERATIONS)
            if "requestBody" in operation:
                problems.update(_OF_OPERATIONS_WITH_A_BODY)
            for status, description in sorted(problems.items()):
                schema = {"$ref": f"#/components/schemas/{_SCHEMA}"}
                declared = {
                    "description": description,
                    "content": {CONTENT_TYPE: {"schema": schema}},
                }
                responses.setdefault(status, declared)
