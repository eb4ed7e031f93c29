"""Commands that wait for a chat model say so on a terminal, but not to programs."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from lightwell.domain.usage import OperationType
from lightwell.entrypoints.cli.progress import WAITING
from lightwell.models.meter import Meter, MeteredModel
from lightwell.ports import Message
from lightwell.testing.endpoint import Behaviour, FakeEndpoint
from lightwell.testing.models import ScriptedModel
from tests.entrypoints.program import run
from tests.patience import PATIENCE

LIGHTWELL = Path(sys.executable).with_name("lightwell")
HIDE_CURSOR = "\x1b[?25l"
ASK = ("ask", "When was the dam built?", "--as", "team:us")
ANSWERING = (ASK, ("brief", "Tarn Valley", *ASK[2:]))


class Seen:
    """Counts how often it was waited, and whether it is now."""

    def __init__(self) -> None:
        self.begun = 0
        self.now = False

    def __call__(self) -> "Seen":
        return self

    def __enter__(self) -> None:
        self.begun += 1
        self.now = True

    def __exit__(self, *_: object) -> None:
        self.now = False


async def test_a_call_is_waited_for_until_its_first_word() -> None:
    seen = Seen()
    inner = ScriptedModel(["one two three", "four five six"])
    model = MeteredModel(inner=inner, meter=Meter(waiting=seen), operation=OperationType.QUERY)
    asked = [Message(role="user", content="Count.")]
    await model.reply(asked, max_tokens=9)
    assert (seen.begun, seen.now) == (1, False)
    during = [seen.now async for _ in model.stream(asked, max_tokens=9)]
    assert during
    assert not any(during)
    assert (seen.begun, seen.now) == (2, False)


def run_on_terminal(
    folder: Path, settings: dict[str, str], words: Sequence[str], terminal: int
) -> str:
    """Run a command in a process of its own, whose stderr is this terminal; return its stdout."""
    inherited = {name: value for name, value in os.environ.items() if "LIGHTWELL" not in name}
    return subprocess.run(
        [LIGHTWELL, *words],
        cwd=folder,
        env=inherited | {"TERM": "xterm"} | settings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
        timeout=PATIENCE,
        check=True,
    ).stdout


def test_a_terminal_is_told_of_the_wait_and_a_pipe_is_not(
    tmp_path: Path, database_url: str
) -> None:
    (tmp_path / "dam.md").write_text("The dam in Tarn Valley was built in 1931.\n")
    slow = FakeEndpoint(lambda body: "It was built in 1931 [1].", behaviour=Behaviour(latency=0.2))
    ours, theirs = os.openpty()
    with slow.running() as endpoint:
        settings = {
            "LIGHTWELL_DATABASE_URL": database_url,
            "LIGHTWELL_CHAT_URL": endpoint.base_url,
            "LIGHTWELL_CHAT_MODEL": "slow",
        }
        run(tmp_path, "ingest", str(tmp_path), "--acl", "team:us", **settings)
        piped = run(tmp_path, *ASK, **settings)
        answered = "".join(
            run_on_terminal(tmp_path, settings, words, theirs) for words in ANSWERING
        )
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert "1931" in answered
    assert shown.count(HIDE_CURSOR) == len(ANSWERING)
    assert WAITING in shown
    assert "1931" in piped.stdout
    assert WAITING not in answered + piped.stdout + piped.stderr
