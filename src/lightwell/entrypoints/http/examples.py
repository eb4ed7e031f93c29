"""An example for each operation, made of the examples of its fields.

A field without one gets a value by its name and type, so that an example always has the form that the schema describes.
"""

from collections.abc import Mapping
from typing import Any

_ID = "019f0000-0000-7000-8000-000000000000"
_BY_FORMAT = {"uuid": _ID, "date-time": "2026-03-02T09:00:00+00:00", "date": "2026-03-02"}
_BY_ENDING: tuple[tuple[str, str], ...] = (
    ("createdAt", "2026-03-02T09:00:00+00:00"),
    ("At", "2026-03-02T09:00:00+00:00"),
    ("timestamp", "2026-03-02T09:00:00+00:00"),
    ("date", "2026-03-02"),
    ("chunkRef", "file:document:019f0000-0000-7000-8000-000000000000#0"),
    ("documentRef", "file:document:019f0000-0000-7000-8000-000000000000"),
    ("Ref", "kg:organization:nordwind-energie"),
    ("Url", "https://wiki.example/contracts/nordwind"),
    ("url", "https://wiki.example/contracts/nordwind"),
    ("Title", "Contract with Nordwind Energie"),
    ("title", "Contract with Nordwind Energie"),
    ("Name", "Nordwind Energie"),
    ("name", "Nordwind Energie"),
    ("Hash", "9f2c4e"),
    ("query", "What discount does Nordwind Energie receive?"),
    ("answer", "Nordwind Energie receives a discount of 18 percent. [1]"),
    ("response", "Nordwind Energie receives a discount of 18 percent. [1]"),
    ("snippet", "Nordwind Energie receives a discount of 18 percent."),
    ("content", "Nordwind Energie receives a discount of 18 percent."),
    ("text", "Nordwind Energie receives a discount of 18 percent."),
    ("chunkText", "Nordwind Energie receives a discount of 18 percent."),
    ("source", "contract.md"),
    ("sourceSystem", "file"),
    ("sourceType", "document"),
    ("model", "extracts"),
    ("confidence", "high"),
    ("language", "en"),
    ("Id", _ID),
    ("id", _ID),
)
_NUMBERS: Mapping[str, float] = {
    "relevance": 0.91,
    "relevanceScore": 0.91,
    "score": 0.91,
    "distance": 0.21,
    "threshold": 0.6,
    "chunkIndex": 0,
}
_JSON = "application/json"


def add_examples(document: dict[str, Any]) -> None:
    """Put an example at every JSON body, and at every parameter that is required, in an OpenAPI document."""
    schemas: Mapping[str, Any] = document["components"]["schemas"]
    for operations in document["paths"].values():
        for operation in operations.values():
            replies = operation["responses"].items()
            bodies = [reply for status, reply in replies if status.startswith("2")]
            for body in bodies:
                _add_to_body(body.get("content", {}).get(_JSON), schemas)
            wanted = {name: _with_required_fields(schema) for name, schema in schemas.items()}
            _add_to_body(operation.get("requestBody", {}).get("content", {}).get(_JSON), wanted)
            for parameter in operation.get("parameters", ()):
                if parameter.get("required") and "example" not in parameter:
                    parameter["example"] = make_example(
                        parameter["schema"], schemas, parameter["name"]
                    )


def _with_required_fields(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema without the fields that a request may leave out and that have no example of their own."""
    required = schema.get("required", ())
    fields = schema.get("properties", {}).items()
    needed = {key: field for key, field in fields if key in required or "examples" in field}
    return {**schema, "properties": needed}


def make_example(schema: Mapping[str, Any], schemas: Mapping[str, Any], name: str = "") -> object:
    """Return a value that has the form of the schema; `name` is the field's."""
    for word in ("examples", "enum"):
        if schema.get(word):
            return schema[word][0]
    for word in ("const", "default"):
        if schema.get(word) not in (None, "", [], {}):
            return schema[word]
    if "$ref" in schema:
        return make_example(schemas[schema["$ref"].rpartition("/")[2]], schemas, name)
    for choice in schema.get("anyOf", schema.get("oneOf", ())):
        return make_example(choice, schemas, name)
    return _by_type(schema, schemas, name)


def _by_type(schema: Mapping[str, Any], schemas: Mapping[str, Any], name: str) -> object:
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {})
            return {key: make_example(field, schemas, key) for key, field in fields.items()}
        case "array":
            return [make_example(schema.get("items", {}), schemas, name.removesuffix("s"))]
        case "string":
            return _text(schema, name)
        case "integer" | "number":
            return _NUMBERS.get(name, schema.get("minimum", 1))
        case "boolean":
            return False
        case _:
            return None


def _text(schema: Mapping[str, Any], name: str) -> str:
    if schema.get("format") in _BY_FORMAT:
        return _BY_FORMAT[schema["format"]]
    return next((value for ending, value in _BY_ENDING if name.endswith(ending)), "")


def _add_to_body(content: dict[str, Any] | None, schemas: Mapping[str, Any]) -> None:
    if content is not None and not content.keys() & {"example", "examples"}:
        content["example"] = make_example(content.get("schema", {}), schemas)
