"""`doctor`: checks settings, database and models."""

import lightwell.entrypoints.cli.text_output as text_output
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.registration import command, single_command
from lightwell.entrypoints.cli.store import settings

doctor = single_command()


@command(doctor, "doctor", "lightwell doctor", "lightwell doctor --json")
async def check_everything() -> Report:
    """Check settings, database and models, and report problems and how to fix them.

    Exit code 1: a problem was found.
    """
    from lightwell.wiring import examine

    found = await examine(settings())
    well = all(each.ok for each in found)
    checks = [
        {"name": each.name, "ok": each.ok, "detail": each.detail, "fix": each.fix} for each in found
    ]
    return Report(
        document={"ok": well, "checks": checks},
        text=text_output.checks(found),
        code=Exit.FINE if well else Exit.INCOMPLETE,
    )
