"""`export`: writes what the reader may see to files."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from lightwell.domain.errors import Invalid
from lightwell.domain.exports import (
    ExportConfig,
    Exported,
    ExportFormat,
    ExportProgress,
    ExportTable,
    parse_export_format,
)
from lightwell.entrypoints.cli.console import clean, count_of, errors_console
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import As
from lightwell.entrypoints.cli.registration import Work, command, single_command
from lightwell.entrypoints.cli.store import find_reader_tags, open_as, settings

export = single_command()


ExportPath = Annotated[
    Path,
    typer.Argument(
        metavar="PATH",
        help="The file to write. csv writes one file per table: graph.csv, and beside it "
        "graph-relations.csv, graph-chunks.csv and graph-vectors.csv.",
    ),
]
FormatName = Annotated[
    str,
    typer.Option(
        "--format", metavar="FORMAT", help="csv, xlsx, md or txt; by default the ending of PATH."
    ),
]
NoEntities = Annotated[bool, typer.Option("--no-entities", help="Leave the entities out.")]
NoRelations = Annotated[bool, typer.Option("--no-relations", help="Leave the relations out.")]
Chunks = Annotated[bool, typer.Option("--chunks", help="Add the passages with their text.")]
Vectors = Annotated[bool, typer.Option("--vectors", help="Add the passages' embedding vectors.")]
BatchSize = Annotated[
    int, typer.Option("--batch-size", metavar="N", help="How many rows to hold in memory at once.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]


_ONE: Mapping[ExportTable, str] = {
    ExportTable.ENTITIES: "entity",
    ExportTable.RELATIONS: "relation",
    ExportTable.CHUNKS: "passage",
    ExportTable.VECTORS: "vector",
}


_ENDINGS = ", ".join(f".{each}" for each in ExportFormat)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """The options as typed; `format` is "" if the ending of PATH decides."""

    path: Path
    format: str
    entities: bool
    relations: bool
    chunks: bool
    vectors: bool
    batch_size: int
    replace: bool

    def config(self) -> ExportConfig:
        """Return the configuration of the export; raise `Invalid` if no format is given."""
        suffix = self.path.suffix.removeprefix(".").lower()
        if not (self.format or suffix):
            raise Invalid(f"Name the format with --format, or let PATH end in {_ENDINGS}")
        return ExportConfig(
            format=parse_export_format(self.format or suffix),
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
    """One bar per table on a terminal; elsewhere one line at the end of each table."""

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


@command(
    export,
    "export",
    "lightwell export graph.xlsx --as team:us",
    "lightwell export graph.csv --as team:sales --chunks --vectors",
    "lightwell export passages.csv --as user:ada --chunks --no-entities --no-relations",
)
def export_files(  # noqa: PLR0913 - the options of a command are its arguments
    path: ExportPath,
    *,
    who: As = None,
    file_format: FormatName = "",
    no_entities: NoEntities = False,
    no_relations: NoRelations = False,
    chunks: Chunks = False,
    vectors: Vectors = False,
    batch_size: BatchSize = 1000,
    force: Force = False,
) -> Work:
    """Write the entities and relations that the reader may see to files; optionally passages and vectors.

    All files show the store at one moment, and a file appears only when it is complete. A text that a
    spreadsheet might run as a formula (it begins with = + - @) gets an apostrophe in front in csv, and is
    marked as text in xlsx.
    """
    options = ExportOptions(
        path=path,
        format=file_format,
        entities=not no_entities,
        relations=not no_relations,
        chunks=chunks,
        vectors=vectors,
        batch_size=batch_size,
        replace=force,
    )
    return _write_files(options, who)


async def _write_files(options: ExportOptions, who: Sequence[str] | None) -> Report:
    """Write what the reader may see to files, and report the files and their rows."""
    from lightwell.curate.exporting import require_writable

    find_reader_tags(who, settings())  # wrong input is reported before anything else
    config = options.config()
    require_writable(config)
    async with open_as(who) as (kb, reader):
        with _bars(errors_console()) as bars:
            done = await kb.documents.export(reader, config, on_progress=bars.update)
    return Report(document=_document(done), text=Group(*_lines(done)))


@contextmanager
def _bars(console: Console) -> Generator[_ProgressBars]:
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
        lines.append(
            Text(
                f"{cut} cut, because a cell holds at most 32,767 characters; csv does not cut texts."
            )
        )
    return lines


def _count_of(count: int, word: str) -> str:
    return count_of(count, word).replace("entitys", "entities")
