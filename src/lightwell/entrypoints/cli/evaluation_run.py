"""Shared by both kinds of evaluation: the plan, a separate store, and progress."""

import hashlib
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

import lightwell
from lightwell.domain.access import Tags
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.questions import Mode
from lightwell.entrypoints.cli.progress import show_progress
from lightwell.knowledge_base import IngestionResult, KnowledgeBase
from lightwell.ports import Connector
from lightwell.settings import Settings
from lightwell.wiring import delete_project

FOLDER = "eval"
"""Folder of all evaluation stores, in the data directory."""

_CODE = frozenset({".py", ".sql", ".md", ".toml"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to measure; `max_questions` of 0 means all, `split` of "" means every split.

    `documents` is the path of a collection's documents if they are not in `folder`. `cases` is the number of failed
    questions that the text shows.
    """

    folder: Path
    mode: Mode
    documents: Path | None = None
    max_questions: int = 0
    split: str = ""
    ablate: bool = False
    calibrate: bool = False
    fresh: bool = False
    cases: int = 10
    save: Path | None = None
    compare: Path | None = None


class _HasSplit(Protocol):
    @property
    def split(self) -> str: ...


_Question = TypeVar("_Question", bound=_HasSplit)


def sample(questions: Sequence[_Question], plan: Plan) -> list[_Question]:
    """Return the plan's number of questions of the split, spread over the set; raise `Invalid` if there is none."""
    held = [each for each in questions if plan.split in ("", each.split)]
    if not held:
        splits = ", ".join(sorted({each.split for each in questions if each.split})) or "none"
        raise Invalid(f"There is no question of the split {plan.split!r}; there are: {splits}")
    most = min(plan.max_questions or len(held), len(held))
    return [held[place * len(held) // most] for place in range(most)]


def own_store(settings: Settings, documents: str) -> Settings:
    """Return settings of a store that is separate from the user's, one for these documents and this embedder."""
    embedder = settings.embedding.model if settings.embedding.url else "local"
    project = f"{documents} by {embedder} {settings.embedding.dimension or ''}".strip()
    apart = {
        "data": settings.data / FOLDER,
        "database_url": None,
        "tenant": "eval",
        "project": project,
        "ingestion.extraction": "rules",
    }
    return settings.with_values(apart)


def relevant_settings(own: Settings, plan: Plan) -> dict[str, str]:
    """Return the settings that results depend on."""
    return {
        "mode": plan.mode.value,
        "fusion": own.questions.fusion.value,
        "embedder": own.embedding.model if own.embedding.url else "local",
        "reranker": own.reranker.model or own.questions.rerank,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A connector, the system of its documents, and the tags of a reader who sees all of them."""

    connector: Connector
    system: str
    tags: Tags


async def start_afresh(own: Settings) -> None:
    """Delete the project of an earlier evaluation, and with it the embedding model that it began with."""
    with suppress(NotFound):
        await delete_project(own)


async def ingest(kb: KnowledgeBase, source: Source, console: Console) -> IngestionResult:
    """Ingest the documents, with progress."""
    with show_progress(console) as progress:
        return await kb.ingestion.ingest(
            source.connector,
            source.system,
            on_start=progress.start,
            on_outcome=progress.advance,
            progress=progress.progress,
        )


@contextmanager
def asking_progress(console: Console, total: int) -> Generator[Callable[[], None]]:
    """Show progress; the caller calls the yielded function after each question."""
    bar = Progress(
        TextColumn("Asking"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    if not console.is_terminal:
        console.print(Text(f"Asking {total} times"))
    with bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)


def code_hash() -> str:
    """Return the hash of Lightwell's code, prompts and weights, which distinguishes two states of one version."""
    root = Path(lightwell.__file__).parent
    files = sorted(each for each in root.rglob("*") if each.suffix in _CODE)
    return hash_of(
        f"{each.relative_to(root).as_posix()}\n{each.read_text('utf-8')}" for each in files
    )


def hash_of(parts: Iterable[str]) -> str:
    """Return the SHA-256 of the parts in order."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
