"""A line of the audit log for each command that administers."""

import getpass
from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

from lightwell.entrypoints.audit_log import AuditLog
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.store import settings

_IDS = ("keyId", "personId", "groupId", "revoked")


def write_audit_line(command: str, document: Mapping[str, object], code: Exit) -> None:
    """Write who ran the command, on which project, and how it ended; of its result only ids. Raises `Invalid`."""
    chosen = settings()
    entry = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "command": command,
        "account": getpass.getuser(),
        "project": chosen.project,
        "ids": {name: document[name] for name in _IDS if _is_id(document.get(name))},
        "exitCode": code.value,
    }
    with AuditLog(chosen.audit_log) as log:
        log.write(entry)


def _is_id(value: object) -> bool:
    try:
        UUID(str(value))
    except ValueError:
        return False
    return True
