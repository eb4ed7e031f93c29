"""The command that writes what one may see to files: `export`."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console, Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

import lightwell.entrypoints.cli.people as people
from lightwell.domain.errors import Invalid
from lightwell.domain.exports import (
    ExportConfig,
    Exported,
    ExportFormat,
    ExportProgress,
    ExportTable,
    export_format,
)
from lightwell.entrypoints.cli.edge import Report, errors_console, settings_of_store
from lightwell.entrypoints.cli.show import clean, count_of

_ONE: Mapping[ExportTable, str] = {
    ExportTable.ENTITIES: "entity",
    ExportTable.RELATIONS: "relation",
    ExportTable.CHUNKS: "passage",
    ExportTable.VECTORS: "vector",
}
_ENDINGS = ", ".join(f".{each}" for each in ExportFormat)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """What was said on the command line; `format` is "" when PATH says it."""

    path: Path
    format: str
    entities: bool
    relations: bool
    chunks: bool
    vectors: bool
    batch_size: int
    replace: bool

    def config(self) -> ExportConfig:
        """Return it as the library wants it; raise `Invalid` for what makes no sense."""
        suffix = self.path.suffix.removeprefix(".").lower()
        if not (self.format or suffix):
            raise Invalid(f"Say the format: --format, or a PATH that ends in {_ENDINGS}")
        return ExportConfig(
            format=export_format(self.format or suffix),
            output_path=self.path,
            include_entities=self.entities,
            include_relations=self.relations,
            include_chunks=self.chunks,
            include_vectors=self.vectors,
            batch_size=self.batch_size,
            replace=self.replace,
        )


@dataclass(slots=True)
class _ProgressBars:
    """A bar for each table in a terminal, a line at each one's end elsewhere."""

    console: Console
    bars: Progress
    current: ExportTable | None = None

    def update(self, progress: ExportProgress) -> None:
        if progress.table is not self.current:
            self.current = progress.table
            self.bars.add_task(progress.table.value, total=progress.total)
        self.bars.update(
            self.bars.task_ids[-1], completed=progress.done, total=max(progress.total, 1)
        )
        if not self.console.is_terminal and progress.done:
            self.console.print(
                Text(f"{progress.table.value}: {progress.done:,}/{progress.total:,}")
            )


async def export(options: ExportOptions, who: Sequence[str]) -> Report:
    """Write what the asking person may see to files, and report which and how much."""
    from lightwell.curate.exporting import require_writable

    tags = people.tags(who)
    config = options.config()
    require_writable(config)
    chosen = settings_of_store()
    from lightwell.wiring import open_knowledge_base

    async with open_knowledge_base(chosen) as kb:
        with _bars(errors_console()) as bars:
            done = await kb.export(await kb.reader(tags), config, on_progress=bars.update)
    return Report(document=_document(done), text=Group(*_lines(done)))


@contextmanager
def _bars(console: Console) -> Generator[_ProgressBars, None, None]:
    bars = Progress(
        TextColumn("{task.description:>9}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    with bars:
        yield _ProgressBars(console, bars)


def _document(exported: Exported) -> Mapping[str, object]:
    counts = {table.value: count for table, count in exported.rows.items()}
    return {
        "files": [str(file.absolute()) for file in exported.files],
        **counts,
        "cut": exported.shortened_texts,
    }


def _lines(exported: Exported) -> Sequence[Text]:
    said = ", ".join(_count_of(count, _ONE[table]) for table, count in exported.rows.items())
    lines = [Text(said, style="bold"), *(Text(clean(str(file))) for file in exported.files)]
    if exported.shortened_texts:
        cut = (
            "1 text was"
            if exported.shortened_texts == 1
            else f"{exported.shortened_texts:,} texts were"
        )
        lines.append(Text(f"{cut} cut, since a cell holds 32,767 characters; csv holds all of it."))
    return lines


def _count_of(count: int, word: str) -> str:
    return count_of(count, word).replace("entitys", "entities")
