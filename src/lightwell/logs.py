"""Where log lines go: to structlog where the program has configured it, else to the standard library's loggers.

A library writes nothing by itself: where the program has configured neither, nothing is written.
"""

import logging
from dataclasses import dataclass

import structlog

logging.getLogger("lightwell").addHandler(logging.NullHandler())

_AS_TEXT = (
    structlog.stdlib.filter_by_level,
    structlog.processors.LogfmtRenderer(key_order=["event"], drop_missing=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Logger:
    """One module's log; `said` are values beside the event, never a document's text, a question or a secret."""

    name: str

    def info(self, event: str, **said: object) -> None:
        self._bound().info(event, **said)

    def warning(self, event: str, **said: object) -> None:
        self._bound().warning(event, **said)

    def _bound(self) -> structlog.stdlib.BoundLogger:
        if structlog.is_configured():
            return structlog.stdlib.get_logger(self.name)
        return structlog.stdlib.BoundLogger(logging.getLogger(self.name), _AS_TEXT, {})


def logger(name: str) -> Logger:
    """Return the log of a module, named as the module is."""
    return Logger(name=name)
