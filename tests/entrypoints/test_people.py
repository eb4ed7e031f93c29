"""`people`, `groups` and `keys` on the command line: row S2.3; and a server with wrong settings about identity."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lightwell.entrypoints.cli import app
from lightwell.entrypoints.cli.errors import Exit


@pytest.fixture
def audit(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store, and the file of its audit log."""
    monkeypatch.setenv("LIGHTWELL_DATABASE_URL", database_url)
    monkeypatch.setenv("LIGHTWELL_AUDIT_LOG", str(tmp_path / "audit.jsonl"))
    return tmp_path / "audit.jsonl"


def run(*words: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [*words, "--json"])
    assert result.exit_code == code, result.stderr
    return json.loads(result.stdout or result.stderr)


def test_s2_3_people_groups_and_keys_are_maintained_from_a_shell(audit: Path) -> None:
    run("keys", "create", "first", "--acl", "team:sales")
    person = run("people", "add", "Ada@halden.example", "--acl", "user:ada", "--external-id", "telegram:1")  # fmt: skip
    assert run("groups", "save", "sales", "--acl", "team:sales,team:fair")["members"] == 0
    assert run("groups", "join", "sales", "telegram:1")["members"] == 1
    shown = run("people", "show", "ada@halden.example")
    assert shown["currentTags"] == ["team:fair", "team:sales", "user:ada"]
    key = run("keys", "create", "laptop", "--person", "telegram:1")
    assert (key["personId"], key["aclTags"]) == (person["personId"], [])
    listed = CliRunner().invoke(app, ["keys", "list"]).stdout
    assert "ada@" in listed
    assert person["personId"][:13] not in listed
    rotated = run("keys", "rotate", key["keyId"], "--grace-hours", "2")
    assert rotated["keyId"] == key["keyId"]
    assert rotated["key"] != key["key"]
    assert not run("people", "change", person["personId"], "--deactivate")["active"]
    assert [person["email"] for person in run("people", "list", "--group", "sales")["people"]] == [
        "ada@halden.example"
    ]
    assert run("groups", "leave", "sales", "telegram:1")["members"] == 0
    assert [group["name"] for group in run("groups", "list")["groups"]] == ["sales"]
    run("groups", "delete", "sales", "--yes")
    run("people", "delete", "telegram:1", "--yes")
    assert [key["name"] for key in run("keys", "list")["keys"]] == ["first"]
    check_audit(audit, person["personId"], key)


def test_somebody_is_invited_from_a_shell(audit: Path) -> None:
    run("keys", "create", "first", "--acl", "team:sales")
    run("groups", "save", "sales", "--acl", "team:sales")
    invited = run("people", "invite", "bo@halden.example", "--name", "Bo", "--group", "sales", "--scope", "read")  # fmt: skip
    assert invited["url"].startswith("http://127.0.0.1:8000/sign-in#")
    bo = run("people", "show", "bo@halden.example")
    assert (bo["displayName"], bo["currentTags"], bo["scopes"]) == ("Bo", ["team:sales"], ["read"])
    again = run("people", "invite", "bo@halden.example")
    assert (again["personId"], again["url"] == invited["url"]) == (bo["personId"], False)
    assert "directory already" in run("people", "invite", "bo@halden.example", "--scope", "admin", code=Exit.INVALID)["detail"]  # fmt: skip
    changed = run("people", "change", "bo@halden.example", "--scope", "curate", "--scope", "read")
    assert changed["scopes"] == ["curate", "read"]
    text = audit.read_text()
    assert [json.loads(line)["command"] for line in text.splitlines()][2] == "people invite"
    assert invited["url"].partition("#")[2] not in text


def check_audit(audit: Path, person: str, key: dict[str, str]) -> None:
    """Each change has a line, each reading none, and no line has a name or a secret."""
    text = audit.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["command"] for line in lines] == [
        "keys create", "people add", "groups save", "groups join", "keys create", "keys rotate",
        "people change", "groups leave", "groups delete", "people delete",
    ]  # fmt: skip
    assert lines[1]["ids"] == {"personId": person}
    assert lines[4]["ids"] == {"keyId": key["keyId"], "personId": person}
    assert {line["exitCode"] for line in lines} == {0}
    for word in ("halden", "telegram", key["key"].split("_", 2)[2], "laptop"):
        assert word not in text


def test_what_is_wrong_is_named_and_audited(audit: Path) -> None:
    assert "--acl" in run("keys", "create", "x", code=Exit.INVALID)["detail"]
    run("keys", "create", "x", "--acl", "team:sales")
    assert run("people", "show", "nobody@halden.example", code=Exit.NOT_FOUND)
    assert run("people", "show", "nobody", code=Exit.INVALID)
    wrong = ("people", "add", "", "--external-id", "telegram:1", "--external-id", "telegram:2")
    assert "one external id" in run(*wrong, code=Exit.INVALID)["detail"]
    assert "no such" not in audit.read_text()
    assert [json.loads(line)["exitCode"] for line in audit.read_text().splitlines()] == [2, 0, 2]


def test_without_its_audit_log_a_command_changes_nothing(
    audit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("keys", "create", "x", "--acl", "team:sales")
    monkeypatch.setenv("LIGHTWELL_AUDIT_LOG", str(audit.parent / "missing" / "audit"))
    assert "AUDIT_LOG" in run("people", "add", "a@b", code=Exit.INVALID)["detail"]
    monkeypatch.setenv("LIGHTWELL_AUDIT_LOG", "-")
    assert run("people", "list")["people"] == []
    assert run("people", "add", "a@b")["email"] == "a@b"  # stdout has one document


def test_a_server_that_cannot_start_says_why_in_one_line(
    audit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIGHTWELL_OIDC_ISSUER", "https://login.halden.example")
    result = CliRunner().invoke(app, ["serve", "--port", "0"])
    assert result.exit_code == Exit.INVALID
    *_, last = result.stderr.splitlines()
    assert last == "Error: An OIDC issuer needs an audience: LIGHTWELL_OIDC_AUDIENCE"
