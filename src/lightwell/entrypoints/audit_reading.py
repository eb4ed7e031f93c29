"""The last lines of an audit log that is a file, read again."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from lightwell.entrypoints.audit_log import STDOUT

MOST_BYTES = 4_000_000
"""How much of the end of the file is looked through."""

_CHANGES = frozenset(("POST", "PUT", "PATCH", "DELETE"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Selects lines of a project: of a person or for one, only what changed something, only what was refused or failed."""

    project: str
    person: str = ""
    only_changes: bool = False
    only_failures: bool = False

    def selects(self, entry: Mapping[str, object]) -> bool:
        """Return whether a line is wanted."""
        is_command = "command" in entry
        status = entry.get("status")
        failed = (
            entry.get("exitCode") != 0
            if is_command
            else not isinstance(status, int) or status >= 400
        )
        return (
            entry.get("project") == self.project
            and self.person in ("", entry.get("personId"), entry.get("actingFor"))
            and (failed or not self.only_failures)
            and (is_command or entry.get("method") in _CHANGES or not self.only_changes)
        )


def read_latest(target: str, wanted: Wanted, *, limit: int) -> list[Mapping[str, object]] | None:
    """Return up to `limit` wanted lines, the latest first; None where the log is not a file that can be read."""
    if target in ("", STDOUT):
        return None
    try:
        lines = _last_lines(Path(target).expanduser())
    except OSError:
        return None
    if lines is None:
        return None
    selected = (entry for entry in _entries(lines) if wanted.selects(entry))
    return [entry for entry, _ in zip(selected, range(limit), strict=False)]


def _last_lines(path: Path) -> list[bytes] | None:
    if not path.is_file():
        return None
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - MOST_BYTES))
        lines = file.read(MOST_BYTES).splitlines()
    return lines if size <= MOST_BYTES else lines[1:]


def _entries(lines: list[bytes]) -> Iterator[Mapping[str, object]]:
    for line in reversed(lines):
        try:
            entry: object = json.loads(line)
        except ValueError:
            continue  # a line that is being written, or that another program wrote
        if isinstance(entry, dict):
            yield cast("Mapping[str, object]", entry)
