"""`documents original`: writes a document to a file as it was uploaded or fetched."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli.asking import Asker
from lightwell.entrypoints.cli.console import clean
from lightwell.entrypoints.cli.documents import Name, documents, name_for
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.registration import command
from lightwell.entrypoints.cli.remote import send


@command(
    documents,
    "original",
    "lightwell documents original handbook/leave.pdf -o leave.pdf --as team:us",
    "lightwell documents original upload:document:42 -o offer.pdf --server http://127.0.0.1:8000",
)
async def save_original(
    name: Name,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")
    ],
    asker: Asker,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> Report:
    """Write a document to a file as it was uploaded or fetched.

    A file of a folder is where it was; it is written only if nobody has changed it since it was read.
    """
    if output.exists() and not force:
        raise Invalid(f"{output} exists: name another file, or replace it with --force")
    size = 0
    partial = output.with_name(f".{output.name}.part")
    try:
        with partial.open("wb") as file:
            async with aclosing(_parts(name_for(asker, name), asker)) as parts:
                async for part in parts:
                    size += file.write(part)
        partial.replace(output)
    except OSError as error:
        raise Invalid(f"{output} cannot be written: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)
    text = Text(clean(f"{size:,} bytes written to {output}"))
    return Report(document={"file": str(output.absolute()), "bytes": size}, text=text)


async def _parts(name: str, asker: Asker) -> AsyncGenerator[bytes, None]:
    if asker.login:
        from lightwell.entrypoints.client import document_calls

        yield await send(document_calls.get_original(name), asker.login)
        return
    caller = await asker.open_store()
    originals = caller.knowledge_base.originals
    original = await originals.get(caller.reader, name)
    async with aclosing(originals.parts(caller.reader, original)) as parts:
        async for part in parts:
            yield part
