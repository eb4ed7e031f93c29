"""What the environment says wrongly is named, and nothing of a secret with it."""

import os
import traceback
from pathlib import Path

import pytest
from pydantic import ValidationError

import lightwell
from lightwell.domain.errors import Invalid, LightwellError
from lightwell.records.database import connect, list_pending_migrations
from lightwell.records.health import examine_database
from lightwell.settings import HttpSettings, Settings, settings_from_environment


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder and no setting."""
    for name in [name for name in os.environ if name.startswith("LIGHTWELL_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_misspelt_variable_is_named_with_the_nearest_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LIGHTWELL_DATABSE_URL", "postgresql://secret")
    with pytest.raises(Invalid, match=r"LIGHTWELL_DATABSE_URL.* LIGHTWELL_DATABASE_URL") as caught:
        Settings()
    assert "secret" not in str(caught.value)


def test_a_store_in_the_current_folder_goes_before_the_users(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "share"))
    is_root, user = os.geteuid() == 0, os.geteuid() or 1000
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert Settings().data == folder / "share" / "lightwell"
    (folder / ".lightwell").mkdir()  # may hold anything
    if is_root:
        os.chown(folder / ".lightwell", user, user)
    assert Settings().data == folder / "share" / "lightwell"
    (folder / ".lightwell" / "postgres").mkdir()
    assert Settings().data == Path(".lightwell")


def test_roots_store_is_where_the_account_of_its_server_may_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert Settings().data == Path("/var/lib/lightwell")


def test_a_misspelt_line_of_dot_env_is_named(folder: Path) -> None:
    (folder / ".env").write_text("LIGHTWELL_CHAT_ULR=http://x\nOTHER=1\n")
    with pytest.raises(
        Invalid, match=r"LIGHTWELL_CHAT_ULR, which is set in .*\.env.*LIGHTWELL_CHAT_URL\?"
    ):
        Settings()


@pytest.mark.parametrize(
    ("name", "near"), [("chat_ulr", "chat.url"), ("LIGHTWELL_DATA", "data"), ("dta", "data")]
)
def test_a_misspelt_argument_is_named(name: str, near: str) -> None:
    with pytest.raises(Invalid, match=f"There is no setting {name}.*do you mean {near}"):
        Settings(**{name: "x"})  # pyright: ignore[reportArgumentType]


def test_a_variable_that_is_no_setting_any_more_is_told_with_what_holds_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LIGHTWELL_PARSE_SECONDS", "900")
    with pytest.raises(Invalid, match=r"LIGHTWELL_PARSE_SECONDS.*300 seconds\. Remove it"):
        Settings()


def test_arguments_go_before_the_environment_which_says_the_rest(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".env").write_text("LIGHTWELL_HTTP_HOST=::1\nLIGHTWELL_HTTP_PORT=1\n")
    monkeypatch.setenv("LIGHTWELL_HTTP_PORT", "2")
    assert (Settings().http.host, Settings().http.port) == ("::1", 2)
    named = Settings(http=HttpSettings(port=3)).http
    assert (named.host, named.port) == ("::1", 3)


@pytest.mark.parametrize(
    "name",
    ["LIGHTWELL_PORT", "LIGHTWELL_SERVICE_HOST", "LIGHTWELL_PORT_80_TCP", "LIGHTWELL_TEST_X"],
)
def test_what_kubernetes_and_the_tests_set_is_no_setting(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "tcp://10.0.0.1:80")
    Settings()


@pytest.mark.parametrize("name", ["EMBEDDING_URL", "CHAT_URL", "RERANK_URL"])
@pytest.mark.parametrize("value", ["notaurl", "http://", "localhost:8000/v1", "http://[::1"])
def test_a_malformed_url_is_named_without_its_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"LIGHTWELL_{name}", value)
    with pytest.raises(Invalid, match=f"LIGHTWELL_{name} is not an HTTP URL; write it") as caught:
        Settings()
    assert value not in str(caught.value).partition(";")[0]


def test_every_command_refuses_an_api_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTWELL_HTTP_COMPATIBILITY", "dify,ollamma")
    with pytest.raises(Invalid, match="LIGHTWELL_HTTP_COMPATIBILITY: 'ollamma' is none"):
        Settings()


def test_a_wrong_value_is_named_and_never_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTWELL_LEASE_SECONDS", "hunter2")
    with pytest.raises(Invalid, match="LIGHTWELL_LEASE_SECONDS: ") as caught:
        settings_from_environment()
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(ValidationError) as raw:
        Settings()
    assert "hunter2" not in "".join(traceback.format_exception(raw.value))


def test_a_dot_env_that_others_may_change_is_refused(folder: Path) -> None:
    (folder / ".env").write_text("LIGHTWELL_PROJECT=x\n")
    (folder / ".env").chmod(0o666)
    with pytest.raises(Invalid, match=r"\.env can be changed by other users.*chmod go-w"):
        Settings()
    (folder / ".env").chmod(0o644)
    assert Settings().project == "x"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's file")
def test_a_dot_env_of_another_user_is_refused(folder: Path) -> None:
    (folder / ".env").write_text("LIGHTWELL_PROJECT=x\n")
    os.chown(folder / ".env", 65534, 65534)
    with pytest.raises(Invalid, match=r"\.env belongs to another user"):
        Settings()


@pytest.mark.parametrize(
    "url",
    [
        "foo",
        "postgres//admin:hunter2@host/name",
        "postgresql://admin:hunter2/x@host/name",
        "postgresql://admin:x@hunter2@host/name",
        "postgresql://admin:x/@hunter2@host/name",
        "postgresql://admin:1/hunter2@host/name",
        "postgresql://admin:%hunter2@host/name",
    ],
)
async def test_a_malformed_database_url_is_refused_and_none_of_it_told(url: str) -> None:
    async def opened() -> None:
        async with connect(url):
            raise AssertionError

    for attempt in (opened(), list_pending_migrations(url), examine_database(url)):
        with pytest.raises(LightwellError) as caught:
            await attempt
        told = "".join(traceback.format_exception(caught.value))
        assert "cannot be read: write it like postgresql://" in told
        assert not [part for part in ("hunter2", "foo") if part in str(caught.value)]
        assert '"foo"' not in told
        assert "hunter2" not in told.replace(url, "")


def test_the_names_of_the_library_are_completed() -> None:
    assert set(lightwell.__all__) <= set(dir(lightwell))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
def test_a_store_of_another_user_in_the_current_folder_is_used_only_if_it_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In a folder of his, such as one in /tmp, another user would get what root ingests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LIGHTWELL_DATA", raising=False)
    (tmp_path / ".lightwell" / "postgres").mkdir(parents=True)
    assert Settings().data == Path(".lightwell")
    os.chown(tmp_path / ".lightwell", 65534, 65534)
    with pytest.raises(Invalid, match="is a store of another user"):
        Settings()
    assert Settings(data=Path(".lightwell")).data == Path(".lightwell")
