"""The audit log: one line of JSON for each action. No text of a document or a question, no secret."""

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from lightwell.domain.errors import Invalid
from lightwell.logs import logger

STDOUT = "-"

_log = logger(__name__)
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass
class AuditLog:
    """Appends lines to a file that only its owner may read, or writes them to stdout for `-`; "" writes nothing.

    Each line is one write, so several processes may share a file. A file that was moved away is made anew. A line that cannot be
    written is reported in the program's log; the action has happened. Raises `Invalid` when it is opened, where the file cannot
    be written.
    """

    target: str
    _file: int | None = field(default=None, repr=False)

    def __enter__(self) -> "AuditLog":
        if self.target not in ("", STDOUT):
            try:
                self._open()
            except OSError as error:
                raise Invalid(
                    f"The audit log {self.target} (LIGHTWELL_AUDIT_LOG) cannot be written: {error.strerror}"
                ) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def write(self, entry: Mapping[str, object]) -> None:
        """Write one line."""
        if not self.target:
            return
        line = json.dumps(entry, ensure_ascii=True, separators=(",", ":")) + "\n"
        if self.target == STDOUT:
            sys.stdout.write(line)
            sys.stdout.flush()
            return
        try:
            if self._was_moved():
                self._open()
            assert self._file is not None  # noqa: S101 - it has just been opened
            os.write(self._file, line.encode())
        except OSError as error:
            _log.warning("a line of the audit log was not written", error=error.strerror)

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> None:
        self._close()
        self._file = os.open(Path(self.target).expanduser(), _FLAGS, 0o600)

    def _was_moved(self) -> bool:
        if self._file is None:
            return True
        with suppress(FileNotFoundError):
            return not os.path.samestat(Path(self.target).expanduser().stat(), os.fstat(self._file))
        return True


def only_ids(values: Mapping[str, object]) -> dict[str, str]:
    """Return the values that are ids, by their names: nothing else of an action is written."""
    ids: dict[str, str] = {}
    for name, value in values.items():
        with suppress(ValueError):
            ids[name] = str(UUID(str(value)))
    return ids
