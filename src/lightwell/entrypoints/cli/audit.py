"""A line of the audit log for each command that administers."""

import getpass
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime

from lightwell.entrypoints.audit_log import STDOUT, AuditLog, only_ids
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.store import settings

_IDS = ("keyId", "personId", "groupId", "sourceId", "runId", "revoked")

Write = Callable[[Mapping[str, object], Exit], None]


@contextmanager
def open_audit(command: str) -> Generator[Write]:
    """Open the audit log, and yield what writes how the command ended: who ran it, on which project; of its result only ids.

    Nothing is written to stdout, which belongs to the report. Raises `Invalid` where the log cannot be written.
    """
    chosen = settings()
    with AuditLog("" if chosen.server.audit_log == STDOUT else chosen.server.audit_log) as log:

        def write(document: Mapping[str, object], code: Exit) -> None:
            log.write(
                {
                    "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                    "command": command,
                    "account": getpass.getuser(),
                    "project": chosen.project,
                    "ids": only_ids({name: document.get(name) for name in _IDS}),
                    "exitCode": code.value,
                }
            )

        yield write
