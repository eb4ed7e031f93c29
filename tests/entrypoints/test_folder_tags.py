"""A folder's access tags are remembered, and who ingests first without any is the owner of a store of his own."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from lightwell.entrypoints.cli.document_tags import login_tag
from lightwell.stores.embedded.server import run_server
from lightwell.testing.server import temporary_folder
from tests.entrypoints.program import Ended, run

LEAVE = "# Leave\n\nEveryone has 30 days of paid leave per year.\n"
SALARY = "# Salaries\n\nEvery salary rises by 4 percent in July.\n"
DAYS = "How many days of paid leave does everyone have?"
RISE = "By how much does every salary rise in July?"


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with temporary_folder() as folder, run_server(folder / "data") as conninfo:
        (folder / "conninfo").write_text(conninfo, "utf-8")
        yield folder


@pytest.fixture
def project(request: pytest.FixtureRequest, home: Path) -> str:
    """The name of a project of its own for a test, with a folder `NAME/salaries` of papers."""
    name: str = request.node.name
    (home / name / "salaries").mkdir(parents=True)
    (home / name / "leave.md").write_text(LEAVE, "utf-8")
    (home / name / "salaries" / "2026.md").write_text(SALARY, "utf-8")
    return name


def lightwell(home: Path, project: str, *arguments: str, **settings: str) -> Ended:
    return run(home, *arguments, LIGHTWELL_PROJECT=project, **settings)


def test_a_second_ingest_without_tags_changes_nothing(home: Path, project: str) -> None:
    assert lightwell(home, project, "ingest", project, "--acl", "team:us").returncode == 0
    again = lightwell(home, project, "ingest", project)
    assert again.returncode == 0
    assert (
        again.stdout == "0 new, 0 changed, 2 unchanged, 0 gone, 0 failed\n2 documents for team:us\n"
    )
    (home / project / "salaries" / "new.md").write_text("# New\n\nThe bonus is 2 percent.", "utf-8")
    below = lightwell(home, project, "ingest", f"{project}/salaries")
    assert below.stdout.startswith("1 new")
    assert "2 documents for team:us" in below.stdout
    assert "30 days" in lightwell(home, project, "ask", DAYS, "--as", "team:us").stdout


def test_the_nearest_folder_decides_and_a_change_is_said_first(home: Path, project: str) -> None:
    folder = home / project
    lightwell(home, project, "ingest", project, "--acl", "team:us")
    narrowed = lightwell(home, project, "ingest", f"{project}/salaries", "--acl", "team:pay")
    assert f"Note: {folder}/salaries was for team:us, and is now for team:pay." in narrowed.stderr
    assert "1 document for team:pay" in lightwell(home, project, "ingest", project).stdout
    assert "4 percent" not in lightwell(home, project, "ask", RISE, "--as", "team:us").stdout
    given = ("ingest", project, "--acl", "team:us")
    widened = lightwell(home, project, *given)
    assert f"Note: {folder}/salaries was for team:pay, and is now for team:us." in widened.stderr
    assert "4 percent" in lightwell(home, project, "ask", RISE, "--as", "team:us").stdout
    assert lightwell(home, project, *given).stderr == ""


def test_one_file_keeps_its_tags_when_its_folder_is_ingested(home: Path, project: str) -> None:
    paper = f"{project}/salaries/2026.md"
    assert lightwell(home, project, "documents", "add", paper, "--acl", "team:pay").returncode == 0
    lightwell(home, project, "ingest", f"{project}/leave.md", "--acl", "team:us")
    told = lightwell(home, project, "ingest", project)
    assert "1 document for team:pay" in told.stdout
    assert "1 document for team:us" in told.stdout
    again = lightwell(home, project, "documents", "add", paper)
    assert again.returncode == 0
    assert "4 percent" in lightwell(home, project, "ask", RISE, "--as", "team:pay").stdout


def test_one_file_of_a_shared_folder_keeps_what_the_settings_there_say(
    home: Path, project: str
) -> None:
    """They do not apply to a file that is named alone, and so the tags of the folders above must not either."""
    folder = home / project / "salaries"
    (folder / ".lightwell.yaml").write_text("acl_tags: [team:pay]\n", "utf-8")
    lightwell(home, project, "ingest", project, "--acl", "team:us")
    folder.chmod(0o777)
    lightwell(home, project, "ingest", f"{project}/salaries/2026.md")
    assert "4 percent" not in lightwell(home, project, "ask", RISE, "--as", "team:us").stdout
    assert "4 percent" in lightwell(home, project, "ask", RISE, "--as", "team:pay").stdout


def test_erasing_a_document_forgets_the_tags_of_its_file(home: Path, project: str) -> None:
    paper = f"{project}/salaries/2026.md"
    lightwell(home, project, "documents", "add", paper, "--acl", "team:pay")
    gone = ("documents", "delete", paper, "--as", "team:pay", "--hard", "--yes")
    with psycopg.connect((home / "conninfo").read_text("utf-8"), autocommit=True) as connection:
        own = "SELECT count(*) FROM folder_tags WHERE folder_url LIKE %s"
        assert connection.execute(own, [f"%{paper}"]).fetchone() == (1,)
        assert lightwell(home, project, *gone).returncode == 0
        assert connection.execute(own, [f"%{paper}"]).fetchone() == (0,)


def test_documents_of_a_store_that_remembers_nothing_stay_as_they_were(
    home: Path, project: str
) -> None:
    """A store of an earlier version, and a document that lost its front matter."""
    lightwell(home, project, "ingest", project, "--acl", "team:us")
    with psycopg.connect((home / "conninfo").read_text("utf-8")) as connection:
        connection.execute("DELETE FROM folder_tags")
    kept = lightwell(home, project, "ingest", project)
    assert kept.returncode == 1
    assert "2 documents left as it was, since nothing says any more who may see it" in kept.stdout
    assert "30 days" in lightwell(home, project, "ask", DAYS, "--as", "team:us").stdout
    assert lightwell(home, project, "ingest", project, "--acl", "team:us").returncode == 0


def test_tags_in_a_folder_are_stronger_than_what_is_remembered(home: Path, project: str) -> None:
    lightwell(home, project, "ingest", project, "--acl", "team:us")
    (home / project / "salaries" / ".lightwell.yaml").write_text("acl_tags: [team:pay]", "utf-8")
    assert "1 document for team:pay" in lightwell(home, project, "ingest", project).stdout


def test_no_tags_and_none_given_are_two_things(home: Path, project: str) -> None:
    both = lightwell(home, project, "ingest", project, "--acl", "team:us", "--no-acl")
    none = lightwell(home, project, "ingest", project, "--acl", ",")
    assert both.returncode == none.returncode == 2
    assert "Name access tags with --acl, or hide documents with --no-acl" in both.stderr


# ── a store of one's own ──────────────────────────────────────────────────────────────────────────────


def test_a_store_of_ones_own_needs_no_tags(home: Path, project: str) -> None:
    me = login_tag()
    first = lightwell(home, project, "ingest", project)
    assert first.returncode == 0
    assert f"Note: Documents that name no access tags are for you, {me}" in first.stderr
    assert f"2 documents for {me}" in first.stdout
    assert "30 days" in lightwell(home, project, "ask", DAYS).stdout
    assert "2 active" in lightwell(home, project, "status").stdout
    assert "30 days" not in lightwell(home, project, "ask", DAYS, "--as", "team:us").stdout
    assert "Name who asks" in lightwell(home, project, "ask", DAYS, "--as", ",").stderr
    assert "--as" in lightwell(home, project, "mcp").stderr


def test_the_environment_names_who_asks(home: Path, project: str) -> None:
    lightwell(home, project, "ingest", f"{project}/salaries", "--acl", "team:pay")
    asked = lightwell(home, project, "ask", RISE, LIGHTWELL_AS="user:ada, team:pay")
    assert "4 percent" in asked.stdout
    other = lightwell(home, project, "ask", RISE, "--as", "team:us", LIGHTWELL_AS="team:pay")
    assert "4 percent" not in other.stdout


def test_a_store_that_is_in_use_has_no_owner(home: Path, project: str) -> None:
    lightwell(home, project, "keys", "create", "reader", "--acl", "team:us")
    refused = lightwell(home, project, "ingest", project)
    assert refused.returncode == 1
    assert "it has no access tags, so nobody could see it" in refused.stdout
    assert "Name who asks" in lightwell(home, project, "ask", DAYS).stderr
    lightwell(home, project, "ingest", project, "--acl", "team:us")
    assert "Name who asks" in lightwell(home, project, "ask", DAYS).stderr


def test_an_estimate_remembers_nothing_and_makes_nobody_the_owner(home: Path, project: str) -> None:
    estimated = lightwell(home, project, "ingest", project, "--estimate")
    assert "2 new or changed" in estimated.stdout
    assert "less than a minute on this machine" in estimated.stdout
    assert "Name who asks" in lightwell(home, project, "ask", DAYS).stderr
    given = ("ingest", project, "--estimate", "--acl", "team:us")
    assert lightwell(home, project, *given).returncode == 0
    lightwell(home, project, "ingest", f"{project}/leave.md")
    assert "30 days" in lightwell(home, project, "ask", DAYS).stdout


@pytest.mark.parametrize(
    ("login", "tag"), [("ada", "user:ada"), ("ACME\\ada smith", "user:owner"), ("", "user:owner")]
)
def test_a_login_that_is_no_tag_is_called_the_owner(
    monkeypatch: pytest.MonkeyPatch, login: str, tag: str
) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: login)
    assert login_tag() == tag
