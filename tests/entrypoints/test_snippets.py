"""Every console and Python snippet of README.md and docs/ runs, on one store and one server, or says why it does not.

A snippet that cannot run has a line `<!-- not run: REASON -->` above it. docs/access.md and docs/first-hour.md have a test of their own, which compares what they print.
"""

import io
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from lightwell.domain.api_keys import Scope
from lightwell.stores.embedded.server import run_server
from lightwell.testing.server import temporary_folder
from lightwell.world import DOCUMENTS
from tests.entrypoints.http_site import ALL_BUT_ADMIN, Site, serving_in_thread
from tests.entrypoints.program import Ended, run

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if page.name not in ("access.md", "first-hour.md")
    ),
]
SNIPPET = re.compile(
    r"^(?:<!-- not run: (?P<reason>.+?) -->\n)?```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.S
)
COMMAND = re.compile(r"^(?:\$ )?(?:lightwell|python|uv|pip|make|curl|docker|ray) ", re.M)
(ITEMS,) = re.findall(
    r"^```json\n(.*?)^```$", (ROOT / "docs/push.md").read_text("utf-8"), re.M | re.S
)
"""The lines that docs/push.md pushes."""

RUN = ("console", "python", "bash", "sh")
SERVER = "http://127.0.0.1:8000"
CONTRACT = DOCUMENTS / "sales" / "nordwind-energie-contract.pdf"


@dataclass(frozen=True)
class Snippet:
    page: str
    kind: str
    text: str
    reason: str


@dataclass(frozen=True)
class Place:
    """A folder with the files that snippets name, a store in it, and a server on this store with keys."""

    home: Path
    url: str
    key: str
    bot: str
    pusher: str

    def fill(self, text: str) -> str:
        """Return a snippet with this server and its keys in place of the examples."""
        for example, real in (
            (SERVER, self.url),
            ("https://knowledge.example.com", self.url),
            ("/srv/new", str(self.home / "new")),
            ("lw_…", self.key),
        ):
            text = text.replace(example, real)
        return text


def snippets(page: Path) -> list[Snippet]:
    name = page.relative_to(ROOT).as_posix()
    return [
        Snippet(name, each["kind"], each["text"], each["reason"] or "")
        for each in SNIPPET.finditer(page.read_text("utf-8"))
    ]


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    async def prepare(site: Site) -> tuple[str, str, str]:
        return (
            await site.key("team:sales", "user:ada", scopes=ALL_BUT_ADMIN),
            await site.key("team:sales", scopes=ALL_BUT_ADMIN),
            await site.key(scopes=(Scope.ADMIN,)),
        )

    with (
        temporary_folder() as home,
        run_server(home / "data") as conninfo,
        serving_in_thread(conninfo, prepare) as (url, (key, bot, pusher)),
    ):
        for folder in ("handbook", "contracts", "notes"):
            (home / folder).mkdir()
        (home / "handbook" / "leave.md").write_text("# Leave\n\nThere are 30 days of leave a year.")
        (home / "notes" / "plan.md").write_text("# Plan\n\nThe office opens in Bergen in March.")
        shutil.copy(CONTRACT, home / "contracts" / "contract.pdf")
        for name in ("offer.pdf", "contract.pdf"):
            shutil.copy(next(DOCUMENTS.rglob("*.pdf")), home / name)
        (home / "notes.md").write_text("# Notes\n\nWe call Nordwind Energie on Monday.")
        (home / "items.ndjson").write_text(ITEMS)
        yield Place(home, url, key, bot, pusher)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_snippet_runs_or_says_why_not(page: Path, request: pytest.FixtureRequest) -> None:
    names: dict[str, object] = {}
    for snippet in snippets(page):
        if snippet.reason:
            assert snippet.kind in RUN
        elif snippet.kind == "python":
            run_python(request.getfixturevalue("place"), snippet, names)
        elif snippet.kind in RUN:
            run_console(request.getfixturevalue("place"), snippet)
        else:
            assert not COMMAND.search(snippet.text), (
                f"{page} has a command in a block of {snippet.kind!r}"
            )


def run_python(place: Place, snippet: Snippet, names: dict[str, object]) -> None:
    """Run a snippet after those above it, whose names it uses; what the README's one prints is in its comments."""
    data = {
        "LIGHTWELL_DATA": str(place.home / "data"),
        "LIGHTWELL_PROJECT": "python",
        "PUSH_KEY": place.pusher,
    }
    printed, logged = io.StringIO(), io.StringIO()
    with chdir(place.home), pytest.MonkeyPatch.context() as patch:
        for name, value in data.items():
            patch.setenv(name, value)
        with redirect_stdout(printed), redirect_stderr(logged):
            exec(compile(place.fill(snippet.text), snippet.page, "exec"), names)  # noqa: S102 - our own page
    if snippet.page == "README.md":
        promised = re.findall(r"^ +print\(.*\)  # (.+)$", snippet.text, re.MULTILINE)
        assert promised[0] == "Nordwind receives a discount of 18 percent on all items."
        assert printed.getvalue().splitlines() == promised
        assert not logged.getvalue()


def run_console(place: Place, snippet: Snippet) -> None:
    text = place.fill(snippet.text).replace("\\\n", " ")
    commands = re.findall(r"^\$ (.+)$", text, re.M)
    assert commands, f"{snippet.page} has a console without a command: {text}"
    for command in commands:
        ended = run_command(place, snippet.page, command)
        assert ended.returncode == 0, f"{snippet.page}: {command}\n{ended.stdout}{ended.stderr}"


def run_command(place: Place, page: str, command: str) -> Ended:
    words = shlex.split(command, comments=True)
    settings = dict(word.split("=", 1) for word in words if re.match(r"LIGHTWELL_\w+=", word))
    words = words[len(settings) :]
    settings = {
        name: place.pusher if text == "$PUSH_KEY" else text for name, text in settings.items()
    }
    if words[0] == "lightwell":
        project = "default" if "docs/" in page else "readme"
        typed = f"{place.key}\n" if "login" in words else ""
        own = {"LIGHTWELL_PROJECT": project, **settings}
        return run(place.home, *words[1:], stdin=typed, **own)
    assert words[0] == "curl", f"{page}: nothing runs {command}"
    keys = {"KEY": place.key, "BOT": place.bot, "PUSH_KEY": place.pusher}
    return subprocess.run(
        ["/bin/sh", "-c", command.replace("curl ", "curl --fail-with-body ", 1)],
        cwd=place.home,
        env=os.environ | keys,
        capture_output=True,
        text=True,
        check=False,
    )
