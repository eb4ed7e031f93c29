"""Methods for a document's original: its bytes in parts."""

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit

from lightwell.domain.access import Reader
from lightwell.domain.errors import NotFound
from lightwell.domain.originals import Original, Place
from lightwell.ownership import open_regular_file
from lightwell.records.database import Database
from lightwell.records.documents import documents, originals


@dataclass(frozen=True, slots=True, kw_only=True)
class Originals:
    """The originals of one project's documents, as far as a reader sees these documents."""

    database: Database

    async def get(self, reader: Reader, name: str) -> Original:
        """Return what is known of a document's original; raise `NotFound`, alike where either is not there."""
        try:
            document = await documents.get(self.database, reader, name)
        except NotFound as error:
            raise NotFound(originals.NO_ORIGINAL) from error
        return await originals.find(self.database, reader, document.id)

    async def parts(self, reader: Reader, original: Original) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of an original, whole or with an error; raise `NotFound` where they are gone.

        Whether the reader sees the document is asked again for each part. A file of a folder is sent only where it is the one that was read.
        """
        if original.place is Place.FOLDER:
            async for content in _parts_of_file(original):
                yield content
            return
        sent, part = 0, 0
        while sent < original.size:
            content = await originals.read_part(self.database, reader, original, part)
            if not content:
                raise NotFound(originals.NO_ORIGINAL)
            yield content
            sent, part = sent + len(content), part + 1


async def _parts_of_file(original: Original) -> AsyncGenerator[bytes, None]:
    with await asyncio.to_thread(_copy_unchanged, original) as file:
        while content := await asyncio.to_thread(file.read, originals.PART_BYTES):
            yield content


def _copy_unchanged(original: Original) -> IO[bytes]:
    """Return a copy of the file of an original; raise `NotFound` unless it is as it was when it was read.

    A copy, since the file could change between its check and its sending.
    """
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        digest = hashlib.sha256()
        with open_regular_file(Path(unquote(urlsplit(original.url).path))) as file:
            left = original.size
            while left and (content := file.read(min(left, originals.PART_BYTES))):
                digest.update(content)
                copy.write(content)
                left -= len(content)
            is_longer = bool(file.read(1))
        is_unchanged = not left and not is_longer and digest.digest() == original.sha256
        copy.seek(0)
    except (OSError, ValueError):
        is_unchanged = False
    if is_unchanged:
        return copy
    copy.close()
    raise NotFound(originals.NO_ORIGINAL)
