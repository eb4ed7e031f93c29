"""How `sources` shows sources, their syncs and their failures; a server's look like those of the store here."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from lightwell.entrypoints.cli.console import clean, count_of, new_table
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.remote import dump

if TYPE_CHECKING:
    from lightwell.domain.business_systems import SourceCounts
    from lightwell.entrypoints.schemas.sources import (
        ItemFailureSchema,
        RetrySchema,
        SourceDetailsSchema,
        SourceList,
        SourceRunSchema,
        SourceSchema,
    )


def report_sources(found: "SourceList") -> Report:
    """Report the sources as a table."""
    return Report(document=dump(found), text=_table(found.sources))


def report_source(source: "SourceSchema") -> Report:
    """Report one source as a table of one row."""
    return Report(document=dump(source), text=_table([source]))


def report_details(found: "SourceDetailsSchema") -> Report:
    """Report a source with its latest syncs and failures."""
    return Report(document=dump(found), text=Text(_describe(found)))


def report_failures(found: "SourceDetailsSchema") -> Report:
    """Report the items that could not be read."""
    failures = [dump(each) for each in found.failures]
    return Report(
        document={"failedItems": found.failed_items, "failures": failures},
        text=_failures_table(found.failures),
    )


def report_retry(made: "RetrySchema") -> Report:
    """Report how many items will be tried again."""
    return Report(
        document=dump(made), text=Text(f"{count_of(made.retried, 'item')} will be tried again.")
    )


def report_sync_on_server(found: "SourceDetailsSchema") -> Report:
    """Report the latest sync of a server; it ingests what is new on its own."""
    (latest, *_) = found.runs
    warning = f"\nWarning: {found.warning}" if found.warning else ""
    problem = f"\nThe sync failed: {latest.error}" if latest.error else ""
    text = f"{counts_line(latest)} The server ingests what is new.{problem}{warning}"
    is_incomplete = latest.unreadable or latest.error or found.warning
    return Report(
        document={**dump(latest), "warning": found.warning},
        text=Text(clean(text)),
        code=Exit.INCOMPLETE if is_incomplete else Exit.FINE,
    )


def counts_line(counts: "SourceCounts | SourceRunSchema") -> str:
    """Return what a sync changed, in a line."""
    return (
        f"{counts.inserted:,} new, {counts.updated:,} changed, {counts.deleted:,} deleted,"
        f" {counts.unchanged:,} unchanged, {counts.unreadable:,} unreadable."
    )


def _state(source: "SourceSchema") -> str:
    if source.paused:
        return "paused"
    if source.running:
        return "running"
    if source.error:
        return f"failed {count_of(source.failures_in_row, 'time')}: {source.error}"
    return "waiting"


def _table(found: Sequence["SourceSchema"]) -> Table:
    table = new_table("Name", "System", "State", "Next sync", "Every")
    for each in found:
        table.add_row(
            clean(each.name),
            clean(each.system),
            clean(_state(each)),
            _second(each.next_sync_at),
            f"{each.every_seconds / 60:g} min",
        )
    return table


def _failures_table(found: Sequence["ItemFailureSchema"]) -> Table:
    table = new_table("Item", "Reason", "Attempts", "Next try", "Message")
    for each in found:
        table.add_row(
            clean(each.item_ref),
            clean(each.reason),
            str(each.attempts),
            _second(each.due_at),
            clean(each.message),
        )
    return table


def _describe(found: "SourceDetailsSchema") -> str:
    documents = ", ".join(f"{count:,} {kind}" for kind, count in found.documents.items()) or "none"
    lines = [
        f"{found.name} ({found.system}): {_state(found)}",
        f"Documents: {documents}",
        f"Next sync: {_second(found.next_sync_at)}, next sweep: {_second(found.next_sweep_at)}",
        f"Webhooks go to: {found.webhook_path}",
    ]
    if found.warning:
        lines.append(f"Warning: {found.warning}")
    for run in found.runs:
        end = f" {run.error}" if run.error else ""
        lines.append(f"{_second(run.started_at)} {run.state}: {counts_line(run)}{end}")
    if found.failed_items:
        lines.append(f"{count_of(found.failed_items, 'item')} could not be read:")
        lines += [f"  {each.item_ref}: {each.message}" for each in found.failures]
    return clean("\n".join(lines))


def _second(moment: str) -> str:
    return datetime.fromisoformat(moment).isoformat(timespec="seconds")
