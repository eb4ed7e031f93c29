"""What ingestion reports while it runs: the progress within one document, and the outcome of its job."""

from dataclasses import dataclass
from enum import StrEnum


class Step(StrEnum):
    """The step that a document is in. Embedding and extracting count chunks; parsing counts nothing."""

    PARSING = "parsing"
    EMBEDDING = "embedding"
    EXTRACTING = "extracting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of one step within one document: `done` of `total` chunks."""

    url: str
    step: Step
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentOutcome:
    """The result of one document's job; `error` is "" on success. `omitted` counts chunks that were left out,
    `unknown_predicates` relations that became RELATED_TO.
    """

    url: str
    chunks: int
    error: str
    omitted: int = 0
    unknown_predicates: int = 0
