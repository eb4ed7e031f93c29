"""What a command costs before and beside its work: processor time, with that of its children, and imported modules.

`python -m benchmarks start_up [PYTHON ...]` runs each command with this Python and with those that are named, such as that of a checkout of the
commit before, in turns, and prints the least of `RUNS` runs: whatever else the machine does, adds. Each Python has a store of its own, since versions differ
in their tables. Rows "not compiled" are without any bytecode, also of the standard library. The database server, which runs on its own, is not counted.
"""

import os
import pwd
import re
import resource
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lightwell.testing.server import temporary_folder

RUNS = 3
QUESTION = "What is an access tag?"
DOCUMENTS = ("glossary.md", "settings.md", "team.md")
_PROGRAM = "import sys; from lightwell.entrypoints.cli import main; main()"
_COUNTED = (
    "import sys; from lightwell.entrypoints.cli import main\ntry:\n    main()\nexcept SystemExit:\n"
    "    print('modules:', len(sys.modules), sum(name.startswith('lightwell') for name in sys.modules), file=sys.stderr)"
)


@dataclass(frozen=True)
class Installed:
    """A Python that has Lightwell, with a folder of its own; `key` is shown to the server at `url`."""

    python: str
    home: Path
    url: str = ""
    key: str = ""

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        apart = ("LIGHTWELL", "PYTHONDONTWRITEBYTECODE")
        own = {name: text for name, text in os.environ.items() if not name.startswith(apart)}
        store = {"LIGHTWELL_DATA": str(self.home / "data"), "XDG_CONFIG_HOME": str(self.home)}
        return own | store | dict(more)

    def run(
        self, *arguments: str, code: str = _PROGRAM, **more: str
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [self.python, "-c", code, *arguments],
            env=self.environment(more),
            cwd=self.home,
            capture_output=True,
            text=True,
            check=True,
        )


@dataclass(frozen=True)
class Row:
    name: str
    arguments: tuple[str, ...]
    settings: Mapping[str, str]


def rows(installed: Installed, *, is_served: bool) -> list[Row]:
    alone = [
        Row("`--version`", ("--version",), {}),
        Row("`--help`", ("--help",), {}),
        Row("`keys list`, alone", ("keys", "list"), {}),
        Row("`ask`, alone", ("ask", QUESTION), {}),
        Row("`ask`, alone, not compiled", ("ask", QUESTION), UNCOMPILED),
    ]
    key = {"LIGHTWELL_API_KEY": installed.key}
    server = ("--server", installed.url)
    served = [
        Row("`ask --server`", ("ask", QUESTION, *server), key),
        Row("`search --server`", ("search", QUESTION, *server), key),
        Row("`ask` beside a server", ("ask", QUESTION), {}),
        Row("`documents list` beside a server", ("documents", "list"), {}),
        Row("`ask` beside a server, not compiled", ("ask", QUESTION), UNCOMPILED),
    ]
    return served if is_served else alone


UNCOMPILED = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": "/nonexistent"}


def main(arguments: Sequence[str]) -> None:
    pythons = [sys.executable, *arguments]
    with temporary_folder() as folder:
        installed = [
            prepared(python, folder / str(number)) for number, python in enumerate(pythons)
        ]
        print(
            "| command | "
            + " | ".join(f"CPU s, modules (ours): {python}" for python in pythons)
            + " |"
        )
        print("|---|" + "--:|" * len(pythons))
        measure(installed, is_served=False)
        with served(installed) as running:
            measure(running, is_served=True)


def prepared(python: str, home: Path) -> Installed:
    home.mkdir(mode=0o711)
    docs = Path(__file__).parent.parent / "docs"
    made = Installed(python, home)
    made.run("ingest", *(str(docs / name) for name in DOCUMENTS))
    return made


@contextmanager
def served(installed: Sequence[Installed]) -> Generator[list[Installed]]:
    """Serve each store, and make a key for it."""
    running: list[Installed] = []
    processes: list[subprocess.Popen[str]] = []
    try:
        for one in installed:
            made = one.run("keys", "create", "bench", "--acl", f"user:{user()}", "--scope", "read")
            process = subprocess.Popen(
                [one.python, "-c", _PROGRAM, "serve", "--port", "0"],
                env=one.environment({}),
                cwd=one.home,
                stderr=subprocess.PIPE,
                text=True,
            )
            processes.append(process)
            assert process.stderr is not None
            lines = iter(process.stderr.readline, "")
            url = next(
                found[1] for line in lines if (found := re.search(r"on (http://\S+);", line))
            )
            running.append(Installed(one.python, one.home, url, made.stdout.split()[0]))
            running[-1].run("ask", QUESTION, "--server", url, LIGHTWELL_API_KEY=running[-1].key)
        yield running
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def user() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name


def measure(installed: Sequence[Installed], *, is_served: bool) -> None:
    """Print a row for each command, whose runs by the several Pythons take turns."""
    for same in zip(*(rows(one, is_served=is_served) for one in installed), strict=True):
        least = [float("inf")] * len(installed)
        for _ in range(RUNS):
            for number, (one, row) in enumerate(zip(installed, same, strict=True)):
                least[number] = min(least[number], cost(one, row))
        cells = [
            f"{seconds:.2f}, {modules(one, row)}"
            for seconds, one, row in zip(least, installed, same, strict=True)
        ]
        print(f"| {same[0].name} | " + " | ".join(cells) + " |", flush=True)


def cost(one: Installed, row: Row) -> float:
    """Return the processor seconds of a run, with those of the children that it waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    one.run(*row.arguments, **row.settings)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def modules(one: Installed, row: Row) -> str:
    counted = one.run(*row.arguments, code=_COUNTED, **row.settings).stderr
    every, own = counted.rpartition("modules:")[2].split()
    return f"{every} ({own})"
