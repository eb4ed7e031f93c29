"""The commands in docs/access.md run in order and print what the page says."""

import re
import shlex
from pathlib import Path

from lightwell.testing.server import temporary_folder
from tests.entrypoints.program import run

PAGE = (Path(__file__).parents[2] / "docs/access.md").read_text("utf-8")


def test_the_commands_of_the_page_on_access_print_what_it_says() -> None:
    with temporary_folder() as folder:
        check_page(folder)


def check_page(folder: Path) -> None:
    for name, text in re.findall(r"`(docs/\S+)`[^`]*:\n\n```\w+\n(.*?)```", PAGE, re.S):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    assert len(list((folder / "docs").rglob("*.*"))) == 4
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.S):
        for example in block.split("$ lightwell ")[1:]:
            command, *expected = example.strip().splitlines()
            ended = run(folder, *shlex.split(command))
            for line in expected:
                assert line in ended.stdout + ended.stderr, command
