"""`project`: deletes a whole project."""

from typing import Annotated

import typer
from rich.text import Text

from lightwell.entrypoints.cli.console import clean
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import Yes
from lightwell.entrypoints.cli.registration import Work, command, confirm, new_group
from lightwell.entrypoints.cli.store import settings_of_store

project = new_group("Delete a whole project.", "lightwell project delete trial --yes")


@command(project, "delete", "lightwell project delete trial --yes", audited="project delete")
def delete_project(
    name: Annotated[
        str,
        typer.Argument(metavar="PROJECT", help="Its name, as in LIGHTWELL_PROJECT."),
    ],
    *,
    yes: Yes = False,
) -> Work:
    """Delete a project with everything in it, whoever may see it; the ingested files stay."""
    confirm(f"Delete the project {name} with everything in it?", yes=yes)
    return _delete(name)


async def _delete(name: str) -> Report:
    """Delete the project of this name."""
    from lightwell.wiring import delete_project as delete_with_contents

    await delete_with_contents(settings_of_store().model_copy(update={"project": name}))
    return Report(document={"deleted": name}, text=Text(clean(f"Deleted the project {name}.")))
