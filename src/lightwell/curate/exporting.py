"""Exports what a reader sees: in batches from one database snapshot, completely or not at all."""

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

from xlsxwriter.exceptions import XlsxWriterException

from lightwell.curate import pages
from lightwell.curate.sheets import CsvFiles, XlsxSheets
from lightwell.domain.access import Reader
from lightwell.domain.descriptions import with_separator
from lightwell.domain.errors import Invalid
from lightwell.domain.exports import (
    ExportConfig,
    Exported,
    ExportedRelation,
    ExportFormat,
    ExportProgress,
    ExportRecord,
    ExportTable,
    PassageVector,
)
from lightwell.domain.graph import Entity
from lightwell.ports import VectorIndex
from lightwell.records.database import Database
from lightwell.records.embedding_spaces import Space
from lightwell.records.export_snapshot import Snapshot, snapshot

P = ParamSpec("P")
T = TypeVar("T")


class Sink(Protocol):
    """Writes rows to files, one table after another."""

    @property
    def shortened_texts(self) -> int:
        """The number of texts that were cut to fit a cell."""
        ...

    def begin(self, table: ExportTable) -> None: ...
    def add(self, records: Sequence[ExportRecord]) -> None: ...
    def close(self) -> None: ...
    def abandon(self) -> None:
        """Close the files after a failure; they are deleted afterwards."""
        ...


async def export(
    database: Database,
    index: VectorIndex,
    space: Space,
    reader: Reader,
    config: ExportConfig,
    on_progress: Callable[[ExportProgress], None],
) -> Exported:
    """Write what the reader sees now and return what was written; raise `Invalid` if the files cannot be written.

    Files are written to a temporary folder beside the target and moved at the end, so nobody sees half a file.
    """
    require_writable(config)
    rows: dict[ExportTable, int] = {}
    with _temporary_folder(config.output_path) as folder:
        sink = await _in_thread(_open_sink, config, folder, space.dimension)
        try:
            async with snapshot(database, reader, batch_size=config.batch_size) as reader_snapshot:
                totals = await reader_snapshot.counts()
                for table in config.tables:
                    await _in_thread(sink.begin, table)
                    rows[table] = 0
                    on_progress(ExportProgress(table=table, done=0, total=totals[table]))
                    async for batch in _records(reader_snapshot, table, index, space):
                        await _in_thread(sink.add, _with_separators(batch, config))
                        rows[table] += len(batch)
                        total = max(totals[table], rows[table])
                        on_progress(ExportProgress(table=table, done=rows[table], total=total))
            await _in_thread(sink.close)
        except BaseException:
            sink.abandon()
            raise
        await _in_thread(_move_into_place, config, folder)
    return Exported(files=config.paths, rows=rows, shortened_texts=sink.shortened_texts)


def require_writable(config: ExportConfig) -> None:
    """Raise `Invalid` if the files cannot be written, or exist and may not be replaced."""
    folder = config.output_path.parent
    if not folder.is_dir():
        raise Invalid(f"There is no folder {str(folder)!r} to write to; create it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Invalid(f"The folder {str(folder)!r} may not be written to")
    for path in config.paths:
        if path.is_dir():
            raise Invalid(f"{str(path)!r} is a folder; name a file in it")
        if path.exists() and not config.replace:
            raise Invalid(
                f"{str(path)!r} exists already; name another file, or replace it with --force"
            )


async def _records(
    snapshot: Snapshot, table: ExportTable, index: VectorIndex, space: Space
) -> AsyncGenerator[Sequence[ExportRecord], None]:
    match table:
        case ExportTable.ENTITIES:
            batches: AsyncIterator[Sequence[ExportRecord]] = snapshot.entities()
        case ExportTable.RELATIONS:
            batches = snapshot.relations()
        case ExportTable.CHUNKS:
            batches = snapshot.chunks()
        case ExportTable.VECTORS:
            batches = _vectors(snapshot, index, space)
    async for batch in batches:
        yield batch


async def _vectors(
    snapshot: Snapshot, index: VectorIndex, space: Space
) -> AsyncGenerator[Sequence[PassageVector], None]:
    """Yield the vectors of the reader's chunks; chunks whose vector is not indexed yet are left out."""
    async for batch in snapshot.chunks():
        vectors = await index.vectors(space.id, [chunk.id for chunk in batch])
        yield [
            PassageVector(chunk_ref=chunk.ref, model=space.model, vector=vectors[chunk.id])
            for chunk in batch
            if chunk.id in vectors
        ]


def _with_separators(batch: Sequence[ExportRecord], config: ExportConfig) -> Sequence[ExportRecord]:
    """Return the records with the config's separator in descriptions; markdown and text list the parts one by one instead."""
    separator = config.separator
    if separator is None or config.format in (ExportFormat.MD, ExportFormat.TXT):
        return batch
    return [
        with_separator(record, separator)
        if isinstance(record, Entity | ExportedRelation)
        else record
        for record in batch
    ]


def _open_sink(config: ExportConfig, folder: Path, dimension: int) -> Sink:
    path = folder / config.output_path.name
    match config.format:
        case ExportFormat.CSV:
            return CsvFiles(lambda table: folder / config.path_of(table).name)
        case ExportFormat.XLSX:
            return XlsxSheets(path, dimension)
        case ExportFormat.MD:
            return pages.ParagraphFile(path, pages.render_markdown_title, pages.render_markdown)
        case ExportFormat.TXT:
            return pages.ParagraphFile(path, pages.render_text_title, pages.render_text)


@contextmanager
def _temporary_folder(beside: Path) -> Generator[Path, None, None]:
    """Yield a private folder on the same file system, so that moving is atomic; it is removed at the end."""
    try:
        temporary = tempfile.TemporaryDirectory(prefix=".lightwell-export-", dir=beside.parent)
    except OSError as error:
        raise _unwritable(error) from error
    with temporary as folder:
        yield Path(folder)


def _move_into_place(config: ExportConfig, folder: Path) -> None:
    for path in config.paths:
        with (folder / path.name).open("rb") as file:
            # It holds what this reader sees, and others here may not.
            os.fchmod(file.fileno(), 0o600)
            os.fsync(file.fileno())
    require_writable(config)  # another process may have created the file meanwhile
    for path in config.paths:
        (folder / path.name).replace(path)


async def _in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run the call in a thread. If cancelled, wait for its end first, because it has files open."""
    task = asyncio.ensure_future(asyncio.to_thread(call, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
    except (OSError, XlsxWriterException) as error:
        raise _unwritable(error) from error


def _unwritable(error: Exception) -> Invalid:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return Invalid(f"The export could not be written: {reason}")
