"""The report of an ingestion: each document once, who may see the documents, and what failed."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import unquote

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

import lightwell.entrypoints.cli.costs as costs
from lightwell.domain.access import Tags
from lightwell.domain.documents import NOTHING_TO_READ, omission_warning
from lightwell.entrypoints.cli.console import clean, count_of, unwrapped_line
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.guarded_source import GuardedSource
from lightwell.ingest.progress import DocumentOutcome
from lightwell.ingest.sync import DocumentChange, SyncResult

T = TypeVar("T")

_MAX_ORIGINS = 10
_MAX_KINDS = 20
_WITHOUT_TEXT = "without text"
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

    synced: Sequence[SyncResult]
    done: Sequence[DocumentOutcome] | None
    sources: Sequence[GuardedSource]
    usage: costs.Costs = costs.NOTHING

    def report(self) -> Report:
        """Return the counts and each failure; the exit code is incomplete if there is one."""
        done = self.done or ()
        problems = {
            problem.url: problem.message for sync in self.synced for problem in sync.problems
        }
        problems |= {outcome.url: outcome.error for outcome in done if outcome.error}
        failures = {url: text for url, text in problems.items() if not self._is_blank(url, text)}
        skipped = sum((sync.skipped for sync in self.synced), Counter[str]())
        skipped += Counter({_WITHOUT_TEXT: len(problems) - len(failures)})
        warnings = [
            (warning.url, warning.message) for sync in self.synced for warning in sync.warnings
        ]
        warnings += [
            (outcome.url, omission_warning(outcome.chunks, outcome.omitted))
            for outcome in done
            if outcome.omitted
        ]
        counts = self._counts(problems)
        waiting = counts["new"] + counts["changed"] if self.done is None else 0
        unseen = [url for source in self.sources for url in source.unseen]
        kept = [url for source in self.sources for url in source.kept]
        tagged = Counter(_of_read(problems, (source.tags for source in self.sources)))
        overruled = Counter(_of_read(problems, (source.overruled for source in self.sources)))
        unknown = sum(outcome.unknown_predicates for outcome in done)
        return Report(
            document={
                **counts,
                "failed": [
                    {"documentUrl": url, "errorMessage": message}
                    for url, message in failures.items()
                ],
                "skipped": dict(skipped.most_common()),
                "warnings": [{"documentUrl": url, "message": message} for url, message in warnings],
                "unseen": unseen,
                "kept": kept,
                "jobs": [
                    {
                        "jobId": str(job.id),
                        "documentId": str(job.document_id),
                        "documentUrl": job.url,
                    }
                    for sync in self.synced
                    for job in sync.jobs
                ],
                "chunks": sum(outcome.chunks for outcome in done),
                "unknownPredicates": unknown,
                "waiting": waiting,
                "tags": [
                    {"aclTags": sorted(tags), "documents": count} for tags, count in tagged.items()
                ],
                "aclOverruled": [{"by": by, "documents": count} for by, count in overruled.items()],
                "usage": self.usage.document(),
            },
            text=Group(
                Text(f"{_summary(counts)}, {len(failures)} failed", style="bold"),
                *([Text(self.usage.text())] if self.usage.summary.calls else ()),
                *_skipped_lines(skipped),
                *_waiting_lines(waiting),
                *_unknown_predicate_lines(unknown),
                *_tag_lines(tagged, overruled),
                *_message_lines(("failed  ", "red"), failures.items()),
                *_message_lines(("in part ", "yellow"), warnings),
                *_document_lines("hidden  ", unseen, _UNSEEN),
                *_document_lines("kept    ", kept, _KEPT),
            ),
            code=Exit.INCOMPLETE if failures or unseen or kept else Exit.FINE,
        )

    def _is_blank(self, url: str, problem: str) -> bool:
        """Return whether a document is none, having no text; one that had some before is told as a failure."""
        had_text = any(sync.documents.get(url) is DocumentChange.CHANGED for sync in self.synced)
        return problem in NOTHING_TO_READ and not had_text

    def _counts(self, failed: Container[str]) -> dict[str, int]:
        """Return how many documents had which result, each counted once, without the `failed` ones.

        A `finished` document was enqueued by an earlier run and ingested by this one.
        """
        ends = {url: change.value for sync in self.synced for url, change in sync.documents.items()}
        for outcome in self.done or ():
            if ends.get(outcome.url) not in _READ:
                ends[outcome.url] = "finished"
        counts = Counter(end for url, end in ends.items() if url not in failed)
        names = ("new", "changed", "unchanged", "retagged", "renamed", "finished")
        gone = sum(sync.removed for sync in self.synced)
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


def _of_read(failed: Container[str], sources: Iterable[Mapping[str, T]]) -> Iterator[T]:
    """Yield the value of each document that did not fail."""
    for by_url in sources:
        yield from (value for url, value in by_url.items() if url not in failed)


def _summary(counts: dict[str, int]) -> str:
    seldom = ("retagged", "renamed", "finished")
    return ", ".join(
        f"{count} {name}" for name, count in counts.items() if count or name not in seldom
    )


def _skipped_lines(skipped: Counter[str]) -> list[Text]:
    kinds = ", ".join(f"{count:,} {clean(kind)}" for kind, count in skipped.most_common(_MAX_KINDS))
    rest = sum(skipped.values()) - sum(dict(skipped.most_common(_MAX_KINDS)).values())
    others = f", {rest:,} others; --json lists them" if rest else ""
    return [Text(f"skipped: {kinds}{others}")] if kinds else []


def _waiting_lines(waiting: int) -> list[Text]:
    line = f"{count_of(waiting, 'document')} waiting for `lightwell worker`."
    return [Text(line)] if waiting else []


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
        line = f"--acl did not apply to {count}: {clean(unquote(by))} sets other tags"
        lines.append(Text(line, style="yellow"))
    if len(overruled) > _MAX_ORIGINS:
        rest = sum(overruled.values()) - sum(dict(overruled.most_common(_MAX_ORIGINS)).values())
        lines.append(
            Text(f"--acl did not apply to {rest} others; --json lists them", style="yellow")
        )
    return lines


def _message_lines(
    word: tuple[str, str], messages: Iterable[tuple[str, str]]
) -> Iterator[RenderableType]:
    """Yield each document behind this styled word, with its message below."""
    for url, message in messages:
        yield unwrapped_line(word, clean(url))
        yield Padding(Text(clean(message)), (0, 0, 0, 8))


def _document_lines(word: str, urls: Sequence[str], explanation: str) -> list[Text]:
    lines = [unwrapped_line((word, "red"), clean(url)) for url in urls]
    if urls:
        lines.append(Text(explanation.format(count_of(len(urls), "document"))))
    return lines
