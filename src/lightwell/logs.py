"""Logging: through structlog where the program has configured it, else through the standard library's loggers.

A library prints nothing by itself: where the program has configured neither, nothing is written.
"""

import logging
import traceback
from dataclasses import dataclass

import structlog

logging.getLogger("lightwell").addHandler(logging.NullHandler())

_AS_TEXT = (
    structlog.stdlib.filter_by_level,
    structlog.contextvars.merge_contextvars,
    structlog.processors.LogfmtRenderer(key_order=["event"], drop_missing=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Logger:
    """One module's log; `fields` are values beside the event, never a document's text, a question or a secret."""

    name: str

    def info(self, event: str, **fields: object) -> None:
        self._bound().info(event, **fields)

    def warning(self, event: str, **fields: object) -> None:
        self._bound().warning(event, **fields)

    def _bound(self) -> structlog.stdlib.BoundLogger:
        if structlog.is_configured():
            return structlog.stdlib.get_logger(self.name)
        return structlog.stdlib.BoundLogger(logging.getLogger(self.name), _AS_TEXT, {})


def logger(name: str) -> Logger:
    """Return the log of the module with this name."""
    return Logger(name=name)


def raise_location(error: Exception) -> str:
    """Return where an error came from, as `file.py:12`, for a log that must not quote its message."""
    frames = traceback.extract_tb(error.__traceback__)
    own_frames = [frame for frame in frames if "lightwell" in frame.filename] or frames
    return (
        f"{own_frames[-1].filename.rsplit('/', 1)[-1]}:{own_frames[-1].lineno}"
        if own_frames
        else "unknown"
    )
