"""`embeddings`: the project's embedding model, and the change to another."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from lightwell.entrypoints.cli.console import count_of, errors_console, fields
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import Yes
from lightwell.entrypoints.cli.registration import Work, command, confirm, new_group
from lightwell.entrypoints.cli.store import open_store_project, settings_of_store
from lightwell.entrypoints.operations.embeddings import ChangeEstimate, Space, SpaceList, spaces_of

if TYPE_CHECKING:
    from lightwell.records.embedding_space_progress import SpaceProgress

embeddings = new_group(
    "Show the project's embedding model, and change it while questions go on.",
    "lightwell embeddings status",
    "lightwell embeddings change --estimate",
)

Model = Annotated[
    str,
    typer.Argument(
        metavar="[MODEL]",
        help="The model to change to: the one in LIGHTWELL_NEXT_EMBEDDING_MODEL by default, or the bundled one by its name.",
    ),
]


@command(embeddings, "status", "lightwell embeddings status", "lightwell embeddings status --json")
async def show_status() -> Report:
    """Show the model of the project's vectors, and how far a change to another one is."""
    async with open_store_project(settings_of_store()) as kb:
        return _status_report(await spaces_of(kb.embeddings))


@command(
    embeddings,
    "change",
    "lightwell embeddings change --estimate",
    "lightwell embeddings change bge-small-en-v1.5-int8/windows-1",
    "lightwell embeddings change --background",
)
async def change_model(
    model: Model = "",
    *,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Only show what the change would take.")
    ] = False,
    background: Annotated[
        bool,
        typer.Option("--background", help="Begin the change, and leave it to workers and servers."),
    ] = False,
) -> Report:
    """Embed everything with another model beside the old vectors, then use the new ones from one moment to the next.

    Questions use the old model until then. A change that was interrupted goes on with the same command. The old vectors are kept for
    24 hours, so that a change back is quick.
    """
    console = errors_console()
    async with open_store_project(settings_of_store()) as kb:
        if estimate:
            measured = ChangeEstimate.model_validate(await kb.embeddings.estimate(model))
            return Report(document=measured, text=_estimate_text(measured))
        if not await kb.embeddings.is_changing():
            begun = await kb.embeddings.start(model)
            console.print(_estimate_text(ChangeEstimate.model_validate(begun)))
        if not background:
            with console.status("Embedding") as shown:
                await kb.embeddings.finish(lambda progress: shown.update(_progress(progress)))
        return _status_report(await spaces_of(kb.embeddings))


@command(embeddings, "cancel", "lightwell embeddings cancel")
async def cancel_change() -> Report:
    """End the change that is under way, and drop what was embedded for it; the project keeps its model."""
    async with open_store_project(settings_of_store()) as kb:
        await kb.embeddings.cancel()
        return _status_report(await spaces_of(kb.embeddings))


@command(embeddings, "drop", "lightwell embeddings drop --yes", audited="embeddings drop")
def drop_old(*, yes: Yes = False) -> Work:
    """Drop the vectors of the earlier models now, instead of after the grace period; a change back embeds everything again."""
    confirm("Drop the vectors of the earlier models?", yes=yes)
    return _drop_old()


async def _drop_old() -> Report:
    async with open_store_project(settings_of_store()) as kb:
        dropped = await kb.embeddings.drop_retired()
    return Report(
        document={"dropped": dropped},
        text=Text(f"Dropped the vectors of {count_of(dropped, 'earlier model')}."),
    )


def _progress(progress: "SpaceProgress") -> str:
    done = progress.chunks - progress.missing_chunks
    return (
        f"Embedding with {progress.space.model}: {done:,} of {progress.chunks:,} passages,"
        f" {progress.missing_profiles:,} descriptions to do"
    )


def _status_report(listed: SpaceList) -> Report:
    rows = [(space.status, _space_text(space)) for space in listed.spaces]
    return Report(document=listed, text=fields(rows) if rows else Text("Nothing is embedded yet."))


def _space_text(space: Space) -> str:
    text = f"{space.model}, {space.dimension} dimensions"
    if space.missing_chunks or space.missing_profiles:
        text += f"; to do: {space.missing_chunks:,} of {space.chunks:,} passages, {space.missing_profiles:,} descriptions"
    return text


def _estimate_text(estimate: ChangeEstimate) -> Text:
    price = "an unknown price" if estimate.price is None else f"a price of {estimate.price:.4f}"
    return Text(
        f"{estimate.model}, {estimate.dimension} dimensions: {estimate.chunks:,} different passages and {estimate.profiles:,} descriptions,"
        f" about {estimate.tokens:,} tokens, {price}, about {max(1, round(estimate.seconds / 60)):,} minutes in one process."
    )
