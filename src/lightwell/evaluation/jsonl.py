"""Files of one JSON object per line, read with messages that name the file, the line and the field."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from lightwell.domain.errors import Invalid

Line = TypeVar("Line", bound=BaseModel)


def find_file(folder: Path, part: str) -> Path | None:
    """Return `part.jsonl.gz` or `part.jsonl` of the folder, None without either."""
    names = (f"{part}.jsonl.gz", f"{part}.jsonl")
    return next((folder / name for name in names if (folder / name).is_file()), None)


def read_lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield each line that is not blank, with its place; raise `Invalid` for an empty or unreadable file."""
    is_empty = True
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    is_empty = False
                    yield f"{path}, line {number}", line
    except (OSError, EOFError, zlib.error) as error:
        raise Invalid(f"{path} cannot be read: {error}") from error
    if is_empty:
        raise Invalid(f"{path} is empty")


def parse_line(kind: type[Line], where: str, line: bytes) -> Line:
    """Return the object on a line; raise `Invalid` with its place, the field and what is wrong there."""
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in wrong["loc"])
        raise Invalid(f"{where}: {f'{field!r}: ' if field else ''}{wrong['msg']}") from error
