"""The list of withdrawals beside the store: a file of lines, which a restored backup does not overwrite."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lightwell.domain.errors import Invalid
from lightwell.domain.withdrawals import Withdrawal, format_withdrawal, parse_withdrawal
from lightwell.logs import logger
from lightwell.ownership import open_for_owner
from lightwell.settings import Settings

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class WithdrawalList:
    """A file to which several processes append; only its owner may read it."""

    path: Path

    def note(self, withdrawals: Sequence[Withdrawal]) -> None:
        """Append the withdrawals in one write, and reach the disk. What cannot be written is reported in the log: it has happened."""
        text = "".join(format_withdrawal(withdrawal) + "\n" for withdrawal in withdrawals)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = open_for_owner(self.path, os.O_WRONLY | os.O_APPEND)
            try:
                os.write(file, text.encode())
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            _log.warning(
                "a deletion or change of access was not noted, so a restored backup would undo it",
                file=str(self.path),
                error=error.strerror,
            )

    def read(self) -> list[Withdrawal]:
        """Return the withdrawals in order; raise `Invalid` naming the file and the line that is none."""
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise Invalid(f"{self.path} cannot be read: {error}") from error
        withdrawals: list[Withdrawal] = []
        for number, line in enumerate(lines, start=1):
            try:
                withdrawals.append(parse_withdrawal(line))
            except Invalid as error:
                raise Invalid(f"{self.path}, line {number}: {error}; remove the line") from error
        return withdrawals


def withdrawal_list(settings: Settings) -> WithdrawalList:
    """Return the list beside the store that the settings name."""
    return WithdrawalList(settings.data / "withdrawals.jsonl")
