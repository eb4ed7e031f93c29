"""The report of an ingestion: each document once, who may see the documents, and what failed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar
from urllib.parse import unquote

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

import lightwell.entrypoints.cli.costs as costs
from lightwell.domain.access import Tags
from lightwell.domain.documents import omission_warning
from lightwell.domain.jobs import QueuedJob
from lightwell.entrypoints.cli.console import clean, count_of, unwrapped_line
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.guarded_source import GuardedSource
from lightwell.ingest.progress import DocumentOutcome
from lightwell.ingest.sync import DocumentChange, DocumentProblem, SyncResult

T = TypeVar("T")

_MAX_ORIGINS = 10
_READ = (DocumentChange.NEW, DocumentChange.CHANGED, DocumentChange.RENAMED)
_UNSEEN = (
    "{} without access tags, so nobody may see it any more. "
    "Set --acl TAG, or `acl_tags` in front matter or in a .lightwell.yaml."
)
_KEPT = (
    "{} left as it was, since nothing says any more who may see it. Set --acl TAG, or `acl_tags` in front matter or"
    " in a .lightwell.yaml; --no-acl hides it from everybody."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestSummary:
    """What one `ingest` did over all its paths; `done` is None if workers do the work."""

    found: Sequence[SyncResult]
    done: Sequence[DocumentOutcome] | None
    sources: Sequence[GuardedSource]
    usage: costs.Costs = costs.NOTHING

    def report(self) -> Report:
        """Return the counts and each failure; the exit code is incomplete if there is one."""
        troubles, warnings = self._troubles(), self._warnings()
        failed = {each.url for each in troubles}
        counts = self._counts(failed)
        waiting = counts["new"] + counts["changed"] if self.done is None else 0
        unseen = [url for source in self.sources for url in source.unseen]
        kept = [url for source in self.sources for url in source.kept]
        tagged = Counter(_of_read(failed, (source.tags for source in self.sources)))
        overruled = Counter(_of_read(failed, (source.overruled for source in self.sources)))
        unknown = sum(each.unknown_predicates for each in self.done or ())
        return Report(
            document={
                **counts,
                "failed": [_failed(each) for each in troubles],
                "warnings": [_warning(each) for each in warnings],
                "unseen": unseen,
                "kept": kept,
                "jobs": [_job(job) for each in self.found for job in each.jobs],
                "chunks": sum(each.chunks for each in self.done or ()),
                "unknownPredicates": unknown,
                "waiting": waiting,
                "tags": [
                    {"aclTags": sorted(tags), "documents": count} for tags, count in tagged.items()
                ],
                "aclOverruled": [{"by": by, "documents": count} for by, count in overruled.items()],
                "usage": self.usage.document(),
            },
            text=Group(
                Text(f"{_summary(counts)}, {len(troubles)} failed", style="bold"),
                *([Text(self.usage.text())] if self.usage.summary.calls else ()),
                *_waiting_lines(waiting),
                *_unknown_predicate_lines(unknown),
                *_tag_lines(tagged, overruled),
                *chain.from_iterable(map(_problem_lines, troubles)),
                *chain.from_iterable(map(_warning_lines, warnings)),
                *_document_lines("hidden  ", unseen, _UNSEEN),
                *_document_lines("kept    ", kept, _KEPT),
            ),
            code=Exit.INCOMPLETE if troubles or unseen or kept else Exit.FINE,
        )

    def _troubles(self) -> list[DocumentProblem]:
        """Return each document that failed once, with its last message."""
        found = {each.url: each for sync in self.found for each in sync.problems}
        failed = {
            each.url: DocumentProblem(url=each.url, message=each.error)
            for each in self.done or ()
            if each.error
        }
        return list((found | failed).values())

    def _warnings(self) -> list[DocumentProblem]:
        """Return each document that was read only in part."""
        known = [each for sync in self.found for each in sync.warnings]
        read = [
            DocumentProblem(url=each.url, message=omission_warning(each.chunks, each.omitted))
            for each in self.done or ()
            if each.omitted
        ]
        return known + read

    def _counts(self, failed: set[str]) -> dict[str, int]:
        """Return how many documents had which result, each counted once, without the `failed` ones.

        A `finished` document was enqueued by an earlier run and ingested by this one.
        """
        ends = {url: change.value for sync in self.found for url, change in sync.documents.items()}
        for each in self.done or ():
            if ends.get(each.url) not in _READ:
                ends[each.url] = "finished"
        counts = Counter(end for url, end in ends.items() if url not in failed)
        names = ("new", "changed", "unchanged", "retagged", "renamed", "finished")
        gone = sum(each.removed for each in self.found)
        return {name: counts[name] for name in names} | {"gone": gone}


def _unknown_predicate_lines(relations: int) -> list[Text]:
    if not relations:
        return []
    were = (
        "1 relation has a predicate"
        if relations == 1
        else f"{relations:,} relations have predicates"
    )
    return [Text(f"{were} that Lightwell does not know: they became RELATED_TO")]


def _of_read(failed: set[str], by_url: Iterable[Mapping[str, T]]) -> Iterator[T]:
    """Yield the value of each document that did not fail."""
    for said in by_url:
        yield from (value for url, value in said.items() if url not in failed)


def _summary(counts: dict[str, int]) -> str:
    seldom = ("retagged", "renamed", "finished")
    return ", ".join(
        f"{count} {name}" for name, count in counts.items() if count or name not in seldom
    )


def _waiting_lines(waiting: int) -> list[Text]:
    told = f"{count_of(waiting, 'document')} waiting for `lightwell worker`."
    return [Text(told)] if waiting else []


def _tag_lines(tagged: Counter[Tags], overruled: Counter[str]) -> list[Text]:
    """Return who may see how many documents, and to which ones --acl did not apply."""
    lines = [
        Text(f"{count_of(count, 'document')} for {', '.join(sorted(tags)) or 'nobody'}")
        for tags, count in tagged.most_common(_MAX_ORIGINS)
    ]
    if len(tagged) > _MAX_ORIGINS:
        lines.append(
            Text(f"and {len(tagged) - _MAX_ORIGINS} other sets of tags; --json lists them")
        )
    for by, count in overruled.most_common(_MAX_ORIGINS):
        told = f"--acl did not apply to {count}: {clean(unquote(by))} sets other tags"
        lines.append(Text(told, style="yellow"))
    if len(overruled) > _MAX_ORIGINS:
        rest = sum(overruled.values()) - sum(dict(overruled.most_common(_MAX_ORIGINS)).values())
        lines.append(
            Text(f"--acl did not apply to {rest} others; --json lists them", style="yellow")
        )
    return lines


def _job(job: QueuedJob) -> dict[str, str]:
    return {
        "jobId": str(job.id),
        "documentId": str(job.document_id),
        "documentUrl": job.url,
    }


def _failed(problem: DocumentProblem) -> dict[str, str]:
    return {"documentUrl": problem.url, "errorMessage": problem.message}


def _problem_lines(problem: DocumentProblem) -> list[RenderableType]:
    return [
        unwrapped_line(("failed  ", "red"), clean(problem.url)),
        Padding(Text(clean(problem.message)), (0, 0, 0, 8)),
    ]


def _warning(problem: DocumentProblem) -> dict[str, str]:
    return {"documentUrl": problem.url, "message": problem.message}


def _warning_lines(problem: DocumentProblem) -> list[RenderableType]:
    return [
        unwrapped_line(("in part ", "yellow"), clean(problem.url)),
        Padding(Text(clean(problem.message)), (0, 0, 0, 8)),
    ]


def _document_lines(word: str, urls: Sequence[str], explanation: str) -> list[Text]:
    lines = [unwrapped_line((word, "red"), clean(url)) for url in urls]
    if urls:
        lines.append(Text(explanation.format(count_of(len(urls), "document"))))
    return lines
