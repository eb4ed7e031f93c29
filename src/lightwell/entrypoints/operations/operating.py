"""What whoever runs the server looks at: health, models, the audit log. `http/operating.py` has the routes."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from lightwell.entrypoints.operations.replies import Moment, Reply, Schema, read_from


class HealthCheck(Reply):
    """One component: whether it works, what is known of it, and how to mend it."""

    name: str
    ok: bool
    detail: str
    fix: str


class Health(Reply):
    """What `lightwell doctor` finds, and what waits. `jobs` counts by state, finished ones of the last day only."""

    version: str
    checked_at: Moment
    checks: list[HealthCheck]
    jobs: dict[str, int]
    sources: dict[str, int]


class ModelInUse(Reply):
    """A model, and where it runs; `url` is empty for one that comes with Lightwell."""

    model: str
    url: str


class ModelsInUse(Reply):
    """The models that this server uses; null where there is none. Prices are those of a million tokens of the chat model."""

    chat: ModelInUse | None
    embedding: ModelInUse
    reranker: ModelInUse | None
    price_input: float | None
    price_output: float | None


class LocalModels(Reply):
    """A server of models on this machine: those that write, and those that only embed."""

    server: Annotated[str, read_from("server", "place.server")]
    url: Annotated[str, read_from("url", "place.url")]
    writing: list[str]
    embedding: list[str]


class LocalModelsList(Reply):
    """What runs on this machine at the well-known ports."""

    servers: list[LocalModels]


class TrialBody(Schema):
    """Which model to try; the address is one that was found."""

    url: Annotated[str, Field(max_length=200, examples=["http://127.0.0.1:11434/v1"])]
    model: Annotated[str, Field(min_length=1, max_length=200, examples=["qwen3:4b"])]


class Trial(Reply):
    """What the model said, and after how long."""

    text: str
    milliseconds: int


class AuditEntry(Reply):
    """A line of the audit log: of a request, or of a command, which has `command`, `account` and `exitCode` instead."""

    time: Moment
    request_id: str | None = None
    credential: str | None = None
    person_id: UUID | None = None
    acting_for: UUID | None = None
    method: str | None = None
    route: str | None = None
    ids: dict[str, str | list[str]]
    status: int | None = None
    duration_ms: int | None = None
    address: str | None = None
    command: str | None = None
    account: str | None = None
    exit_code: int | None = None


class AuditEntries(Reply):
    """The latest lines, the latest first; `isFile` is false where they cannot be read here: there is no log, or it goes to stdout."""

    is_file: bool
    entries: list[AuditEntry]
