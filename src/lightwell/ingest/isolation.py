"""Decides whether an error belongs to one document, which then fails alone, or to a service that all documents need."""

from dataclasses import dataclass

from lightwell.domain.errors import (
    LeaseLost,
    LightwellError,
    ModelFailed,
    ParserFailed,
    StoreFailed,
)
from lightwell.logs import logger, raise_location

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a document failed: a stable `code` for programs and a `message` for people."""

    code: str
    message: str


def document_failure(error: Exception, url: str) -> Failure | None:
    """Return the document's failure, or None if the error is not the document's own.

    A failing model, parser or database and a lost lease concern every document, so they stop the batch instead.
    An unexpected error is logged with its type and place only: its message may quote the document.
    """
    match error:
        case LeaseLost() | ModelFailed() | ParserFailed() | StoreFailed():
            return None
        case LightwellError():
            return Failure(code=error.code, message=str(error))
        case _:
            name, location = type(error).__name__, raise_location(error)
            _log.warning("a document failed unexpectedly", url=url, error=name, at=location)
            return Failure(
                code="internal_error",
                message=f"an unexpected {name} occurred while reading it ({location}); please report this. Other documents are not affected",
            )
