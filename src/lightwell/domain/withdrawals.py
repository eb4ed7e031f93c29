"""What was taken back: deleted documents, and documents that fewer people may see. A backup from before shows them still."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from lightwell.domain.access import Tags
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import DocumentId


class Act(StrEnum):
    """What was done to a document."""

    DELETED = "deleted"
    ERASED = "erased"
    RETAGGED = "retagged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """One act on one document, without a word of it: `tag_hashes` are hashes of the access tags that a retagged document has since."""

    document: DocumentId
    act: Act
    at: datetime
    tag_hashes: frozenset[str] = frozenset()

    def narrow(self, tags: Tags) -> Tags:
        """Return those of a document's older tags that it has kept."""
        return frozenset(tag for tag in tags if hash_tag(tag) in self.tag_hashes)


class NoteWithdrawals(Protocol):
    """Keeps withdrawals outside the database."""

    def __call__(self, withdrawals: Sequence[Withdrawal]) -> None: ...


def hash_tag(tag: str) -> str:
    """Return the SHA-256 of an access tag, in hexadecimal."""
    return hashlib.sha256(tag.encode()).hexdigest()


def format_withdrawal(withdrawal: Withdrawal) -> str:
    """Return the withdrawal as a line of JSON."""
    entry = {
        "document": str(withdrawal.document),
        "act": withdrawal.act,
        "at": withdrawal.at.isoformat(),
        "tagHashes": sorted(withdrawal.tag_hashes),
    }
    return json.dumps(entry, separators=(",", ":"))


def parse_withdrawal(line: str) -> Withdrawal:
    """Return what `format_withdrawal` wrote; raise `Invalid`."""
    try:
        entry = json.loads(line)
        return Withdrawal(
            document=DocumentId(UUID(entry["document"])),
            act=Act(entry["act"]),
            at=datetime.fromisoformat(entry["at"]).astimezone(UTC),
            tag_hashes=frozenset(map(str, entry["tagHashes"])),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        raise Invalid("it is not a withdrawal of Lightwell") from None
