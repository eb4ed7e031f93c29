"""`lightwell channels`: state, codes and groups. `doctor` is tested in tests/channels/test_channel_checks.py."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lightwell.domain.channels import Account, Bot, Platform
from lightwell.entrypoints.cli import app
from lightwell.entrypoints.cli.errors import Exit
from lightwell.knowledge_base import channel_accounts
from lightwell.records import projects
from lightwell.records.database import connect


@pytest.fixture
def audit(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with a person and a bot of Telegram that runs, and the file of its audit log."""
    monkeypatch.setenv("LIGHTWELL_DATABASE_URL", database_url)
    monkeypatch.setenv("LIGHTWELL_AUDIT_LOG", str(tmp_path / "audit.jsonl"))
    run("keys", "create", "first", "--acl", "team:sales")
    run("people", "add", "ada@halden.example", "--name", "Ada", "--acl", "team:sales")
    asyncio.run(in_store(database_url))
    return tmp_path / "audit.jsonl"


async def in_store(url: str, code: str = "") -> None:
    """Note that the bot runs, and send it the code."""
    async with connect(url) as database:
        project_id = await projects.find(database, "default", "default")
        bot = Bot(platform=Platform.TELEGRAM, name="halden_bot")
        await channel_accounts.note_bot(database, project_id, bot)
        if code:
            account = Account(platform=Platform.TELEGRAM, id="77")
            assert await channel_accounts.redeem(database, project_id, account, code)


def run(*words: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [*words, "--json"])
    assert result.exit_code == code, result.output + result.stderr
    return json.loads(result.stdout or result.stderr)


def telegram() -> Any:
    shown = run("channels", "show")["channels"]
    return next(state for state in shown if state["platform"] == "telegram")


def test_an_account_is_linked_and_unlinked_from_a_shell(audit: Path, database_url: str) -> None:
    bot = {"name": "halden_bot", "workspace": None}
    assert telegram() == {"platform": "telegram", "isSetUp": False, "bot": bot, "accounts": 0, "waiting": 0}  # fmt: skip
    made = run("channels", "link", "telegram", "--person", "ada@halden.example")
    code = made["line"].removeprefix("/start ")
    assert made["url"] == f"https://t.me/halden_bot?start={code}"
    asyncio.run(in_store(database_url, code))
    assert run("people", "show", "telegram:77")["displayName"] == "Ada"
    assert telegram()["accounts"] == 1
    unlinked = run("channels", "unlink", "telegram", "--person", "telegram:77")
    assert unlinked["unlinked"] == "telegram"
    assert run("channels", "unlink", "telegram", "--person", "ada@halden.example", code=Exit.NOT_FOUND)  # fmt: skip
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    commands = [line["command"] for line in lines if line["command"].startswith("channels")]
    assert commands == ["channels link", "channels unlink", "channels unlink"]
    assert [line["ids"] for line in lines[-3:-1]] == [{"personId": unlinked["personId"]}] * 2
    assert code not in audit.read_text()


@pytest.mark.usefixtures("audit")
def test_a_code_needs_a_bot_that_runs_and_somebody_active() -> None:
    assert "No bot of Slack" in run("channels", "link", "slack", "--person", "ada@halden.example", code=Exit.NOT_FOUND)["detail"]  # fmt: skip
    assert "--person" in run("channels", "link", "telegram", code=Exit.INVALID)["detail"]
    run("people", "change", "ada@halden.example", "--deactivate")
    assert "not active" in run("channels", "link", "telegram", "--person", "ada@halden.example", code=Exit.INVALID)["detail"]  # fmt: skip


@pytest.mark.usefixtures("audit")
def test_a_group_is_bound_and_unbound() -> None:
    bound = run("channels", "bind", "telegram:-1001", "--acl", "team:sales,team:fair")
    assert (bound["chat"], bound["aclTags"]) == ("-1001", ["team:fair", "team:sales"])
    assert run("channels", "show")["groups"] == [bound]
    assert "telegram:-1001" in CliRunner().invoke(app, ["channels", "show"]).stdout
    assert run("channels", "unbind", "telegram:-1001") == {"unbound": "telegram:-1001"}
    run("channels", "unbind", "telegram:-1001", code=Exit.NOT_FOUND)
    run("channels", "bind", "irc:5", "--acl", "team:sales", code=Exit.INVALID)
    run("channels", "bind", "telegram:-1001", code=Exit.INVALID)
