"""What `project delete` does."""

from rich.text import Text

from lightwell.entrypoints.cli.edge import Report, settings_of_store
from lightwell.entrypoints.cli.show import clean
from lightwell.wiring import delete_project


async def delete(name: str) -> Report:
    """Delete the project of this name."""
    await delete_project(settings_of_store().model_copy(update={"project": name}))
    return Report(document={"deleted": name}, text=Text(clean(f"Deleted the project {name}.")))
