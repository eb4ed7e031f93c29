"""Hatch runs this when it builds the wheel: one without the web page is no Lightwell. An editable installation may do without."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = "src/lightwell/entrypoints/web/index.html"
GENERATED = ("openapi.json", "schema.d.ts")


class CustomBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """End the build, saying why, where the page is not there, or is older than what it is built of: after `git pull`."""
        del build_data
        if version == "editable":
            return
        page, web = Path(self.root) / PAGE, Path(self.root) / "web"
        if not page.is_file():
            sys.exit("The web page is not built. Run `make web`, then again what you ran.")
        sources = (path for path in (*web.glob("*.*"), *web.glob("src/**/*.*")) if path.is_file())
        times = [path.stat().st_mtime for path in sources if path.name not in GENERATED]
        # The files of an archive are as old as their unpacking.
        if (Path(self.root) / ".git").exists() and page.stat().st_mtime < max(times):
            sys.exit("The web page is older than web/. Run `make web`, then again what you ran.")
