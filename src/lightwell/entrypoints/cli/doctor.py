"""`doctor`: checks settings, database and models."""

from dataclasses import asdict

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
    from lightwell.wiring.examination import examine

    checks = await examine(settings())
    well = all(check.ok for check in checks)
    return Report(
        document={"ok": well, "checks": [asdict(check) for check in checks]},
        text=text_output.checks(checks),
        code=Exit.FINE if well else Exit.INCOMPLETE,
    )
