"""Calls that push lines into a source, in parts of which each is acknowledged."""

import json
from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from lightwell.entrypoints.operations.calls import Call, Upload, reader_of, segment
from lightwell.entrypoints.operations.pushes import PushQuery, PushReport

Line = Mapping[str, object] | str | bytes
"""A line as JSON says it, or as it is sent."""

_PART_LINES, _PART_BYTES = 1000, 4_000_000
_COMPLETE = b'{"kind": "complete"}'

NOTHING_PUSHED = PushReport(
    lines=0,
    inserted=0,
    updated=0,
    deleted=0,
    unchanged=0,
    outdated=0,
    groups=0,
    failed=0,
    failures=[],
    warning="",
)


def push_query(*, everything: bool, allow_mass_deletion: bool) -> PushQuery:
    """Return how lines are pushed; a sync of everything gets a new name."""
    name = str(uuid4()) if everything else ""
    return PushQuery(sync=name, allow_mass_deletion=allow_mass_deletion)


def push_lines(source: str, lines: bytes, query: PushQuery) -> Call[PushReport]:
    """Push lines into a source, whose stored part is acknowledged at the end. To send them again has no second effect."""
    return Call(
        method="PUT",
        path=f"/v1/sources/{segment(source)}/items",
        lines=lines,
        query=query,
        read=reader_of(PushReport),
    )


def push_file(source: str, item: Mapping[str, object], file: str | Path) -> Call[PushReport]:
    """Push an item with its file, which may be larger than a line; `item` is as a line has it, without content and file."""
    return Call(
        method="PUT",
        path=f"/v1/sources/{segment(source)}/items/file",
        upload=Upload(files=(Path(file),), fields={"item": json.dumps(dict(item))}),
        read=reader_of(PushReport),
    )


def parts_of(lines: Iterable[Line], *, everything: bool) -> Generator[bytes]:
    """Yield the lines in parts of a few megabytes, at the end what ends a sync of `everything`."""
    part = _Part()
    for line in lines:
        if complete := part.add(line):
            yield complete
    if last := part.end(everything=everything):
        yield last


async def later_parts_of(
    lines: Iterable[Line] | AsyncIterable[Line], *, everything: bool
) -> AsyncGenerator[bytes]:
    """Yield parts as `parts_of` does, of lines that may come later."""
    if not isinstance(lines, AsyncIterable):
        for complete in parts_of(lines, everything=everything):
            yield complete
        return
    part = _Part()
    async for line in lines:
        if complete := part.add(line):
            yield complete
    if last := part.end(everything=everything):
        yield last


def add_report(before: PushReport, last: PushReport) -> PushReport:
    """Return what all lines did; `last` counts its lines from 1."""
    summed = {
        name: getattr(before, name) + getattr(last, name)
        for name in PushReport.model_fields
        if name not in ("failures", "warning")
    }
    failures = [
        failure.model_copy(update={"line": failure.line and before.lines + failure.line})
        for failure in last.failures
    ]
    return PushReport.model_construct(
        **summed, failures=before.failures + failures, warning=last.warning or before.warning
    )


@dataclass(slots=True)
class _Part:
    """Lines that are not sent yet."""

    lines: list[bytes] = field(default_factory=list[bytes])
    size: int = 0

    def add(self, line: Line) -> bytes:
        """Add a line; return the lines before it where they are enough, else nothing."""
        encoded = _encode(line)
        if not encoded:
            return b""
        is_full = len(self.lines) >= _PART_LINES or self.size + len(encoded) > _PART_BYTES
        complete = self.end() if is_full and self.lines else b""
        self.lines.append(encoded)
        self.size += len(encoded)
        return complete

    def end(self, *, everything: bool = False) -> bytes:
        """Return the lines, and begin anew."""
        complete = b"".join(line + b"\n" for line in [*self.lines, *([_COMPLETE] * everything)])
        self.lines, self.size = [], 0
        return complete


def _encode(line: Line) -> bytes:
    if isinstance(line, bytes):
        return line.strip()
    text = line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass").strip()
