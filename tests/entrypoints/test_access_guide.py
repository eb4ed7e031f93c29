"""The commands in docs/first-hour.md and docs/access.md run in order and print what the pages say."""

import re
import shlex
from pathlib import Path

import pytest

from lightwell.stores.embedded.server import run_server
from lightwell.testing.server import temporary_folder
from tests.entrypoints.program import run

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(("page", "files"), [("first-hour.md", 2), ("access.md", 4)])
def test_the_commands_of_a_page_print_what_it_says(page: str, files: int) -> None:
    with temporary_folder() as folder, run_server(folder / "data"):
        check_page((DOCS / page).read_text("utf-8"), folder, files)


def check_page(page: str, folder: Path, files: int) -> None:
    given = re.findall(r"^`(\w+/\S+)`[^`]*:\n\n```\w+\n(.*?)```", page, re.S | re.M)
    for name, text in given:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    assert len(given) == files
    for block in re.findall(r"(?<!-->\n)```console\n(.*?)```", page, re.S):
        for example in block.split("$ lightwell ")[1:]:
            command, *expected = example.strip().splitlines()
            ended = run(folder, *shlex.split(command))
            for line in expected:
                assert line in ended.stdout + ended.stderr, command
