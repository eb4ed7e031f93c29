"""Sources, their runs and their failures as JSON, with the keys that HTTP uses."""

from typing import TYPE_CHECKING

from lightwell.domain.business_systems import ItemFailure, Source, SourceCounts, SourceRun
from lightwell.entrypoints.json_output import Json

if TYPE_CHECKING:
    from lightwell.ingest.item_sync import SyncReport
    from lightwell.knowledge_base.sources import SourceDetails


def source(source: Source) -> Json:
    """Return a source; `webhookPath` is where the system sends its webhooks on a server."""
    return {
        "sourceId": str(source.id),
        "name": source.name,
        "system": source.system,
        "options": dict(sorted(source.options.items())),
        "everySeconds": source.every_seconds,
        "sweepSeconds": source.sweep_seconds,
        "addsPeople": source.adds_people,
        "paused": source.is_paused,
        "running": source.is_running,
        "nextSyncAt": source.next_sync_at.isoformat(),
        "nextSweepAt": source.next_sweep_at.isoformat(),
        "failuresInRow": source.failures,
        "error": source.error,
        "warning": source.warning,
        "webhookPath": f"/v1/webhooks/{source.id}",
        "createdAt": source.created_at.isoformat(),
    }


def details(details: "SourceDetails") -> Json:
    """Return a source with its latest runs and failures."""
    return {
        **source(details.source),
        "documents": dict(details.documents),
        "failedItems": details.failed,
        "runs": [run(each) for each in details.runs],
        "failures": [failure(each) for each in details.failures],
        "streams": [
            {"stream": each.stream, "updatedAt": each.updated_at.isoformat()}
            for each in details.positions
        ],
    }


def run(run: SourceRun) -> Json:
    return {
        "runId": str(run.id),
        "state": run.state.value,
        "startedAt": run.started_at.isoformat(),
        "finishedAt": run.finished_at.isoformat() if run.finished_at else None,
        **counts(run.counts),
        "error": run.error,
    }


def counts(counts: SourceCounts) -> Json:
    """Return counts of documents, and of items that could not be read (`unreadable`)."""
    return {
        "inserted": counts.inserted,
        "updated": counts.updated,
        "deleted": counts.deleted,
        "unchanged": counts.unchanged,
        "unreadable": counts.unreadable,
    }


def failure(failure: ItemFailure) -> Json:
    return {
        "itemRef": failure.ref,
        "reason": failure.reason,
        "message": failure.message,
        "attempts": failure.attempts,
        "dueAt": failure.due_at.isoformat(),
    }


def report(report: "SyncReport") -> Json:
    """Return the result of a sync."""
    return {"runId": str(report.run), **counts(report.counts), "warning": report.warning}
