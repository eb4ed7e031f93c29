"""Whose fault is an error: one document's, which alone pays for it, or what all documents stand on?"""

import traceback
from dataclasses import dataclass

from lightwell.domain.errors import LightwellError, Lost, ModelFailed, ParserFailed, StoreFailed
from lightwell.logs import logger

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a document failed: a stable word for programs and a sentence for people."""

    code: str
    message: str


def document_failure(error: Exception, url: str) -> Failure | None:
    """Return the failure of the document on whose behalf this was raised, None where it is not the document's.

    A model, the parser, the database or a lost lease concerns every document. An error that nobody expected is logged with its
    type and place, without its message, which may quote the document.
    """
    match error:
        case Lost() | ModelFailed() | ParserFailed() | StoreFailed():
            return None
        case LightwellError():
            return Failure(code=error.code, message=str(error))
        case _:
            name, location = type(error).__name__, _raise_location(error)
            _log.warning("a document failed unexpectedly", url=url, error=name, at=location)
            return Failure(
                code="internal_error",
                message=f"an unexpected {name} occurred while reading it ({location}); please report this. Other documents are not affected",
            )


def _raise_location(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own_frames = [frame for frame in frames if "lightwell" in frame.filename] or frames
    return (
        f"{own_frames[-1].filename.rsplit('/', 1)[-1]}:{own_frames[-1].lineno}"
        if own_frames
        else "unknown"
    )
