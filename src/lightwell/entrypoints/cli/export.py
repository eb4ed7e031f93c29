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
from lightwell.entrypoints.cli.registration import command, single_command
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
async def export_files(  # noqa: PLR0913 - the options of a command are its arguments
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
) -> Report:
    """Write the entities and relations that the reader may see to files; optionally passages and vectors.

    All files show the store at one moment, and a file appears only when it is complete. A text that a
    spreadsheet might run as a formula (it begins with = + - @) gets an apostrophe in front in csv, and is
    marked as text in xlsx.
    """
    from lightwell.curate.exporting import require_writable

    find_reader_tags(who, settings())  # wrong input is reported before anything else
    ending = path.suffix.removeprefix(".").lower()
    if not (file_format or ending):
        endings = ", ".join(f".{name}" for name in ExportFormat)
        raise Invalid(f"Name the format with --format, or let PATH end in {endings}")
    config = ExportConfig(
        format=parse_export_format(file_format or ending),
        output_path=path,
        include_entities=not no_entities,
        include_relations=not no_relations,
        include_chunks=chunks,
        include_vectors=vectors,
        batch_size=batch_size,
        replace=force,
    )
    require_writable(config)
    async with open_as(who) as (kb, reader):
        with _bars(errors_console()) as bars:
            exported = await kb.documents.export(reader, config, on_progress=bars.update)
    counts = {table.value: count for table, count in exported.rows.items()}
    files = [str(file.absolute()) for file in exported.files]
    return Report(
        document={"files": files, **counts, "cut": exported.shortened_texts},
        text=Group(*_lines(exported)),
    )


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


def _lines(exported: Exported) -> Sequence[Text]:
    counts = ", ".join(
        count_of(count, _ONE[table]).replace("entitys", "entities")
        for table, count in exported.rows.items()
    )
    lines = [Text(counts, style="bold"), *(Text(clean(str(file))) for file in exported.files)]
    if cut := exported.shortened_texts:
        texts = "1 text was" if cut == 1 else f"{cut:,} texts were"
        lines.append(
            Text(
                f"{texts} cut, because a cell holds at most 32,767 characters; csv does not cut texts."
            )
        )
    return lines
