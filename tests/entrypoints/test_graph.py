"""`lightwell graph`, from its words to its exit codes, on a real database."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from typer.testing import CliRunner, Result

from lightwell.entrypoints.cli.commands import app

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command as team:us, with two papers read."""
    monkeypatch.setenv("LIGHTWELL_DATABASE_URL", database_url)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").write_text("Jane Smith met Nordwind in Tarn Valley. Jane Smith left.\n")
    (tmp_path / "b.md").write_text("Jane Smith wrote to Nordwind AG about Osprey.\n")
    runner = CliRunner()

    def run(*words: str, who: str = "team:us") -> Result:
        asks = ["--as", who] if words[0] == "graph" else []
        return runner.invoke(app, [*words, *asks])

    assert run("ingest", str(tmp_path), "--acl", "team:us").exit_code == 0
    return run


def said(result: Result) -> dict[str, object]:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def names(page: dict[str, object]) -> list[str]:
    return [entity["entityName"] for entity in cast("list[dict[str, str]]", page["entities"])]


def test_a_session_of_corrections(run: Run) -> None:
    proposed = run("graph", "proposals")
    assert "Nordwind AG" in proposed.stdout
    assert "both related to Jane Smith" in proposed.stdout
    merged = said(run("graph", "merge", "nordwind ag", "--into", "Nordwind", "--json"))
    assert merged["sourceEntitiesDeleted"] == 1
    assert merged["relationsDeduped"] == 1
    assert "There are no possible duplicates" in run("graph", "proposals").stdout
    shown = run("graph", "show", "Nordwind AG").stdout
    assert re.search(r"^also called +Nordwind AG$", shown, re.M)
    listed = run("graph", "merges")
    assert re.search(r"^Nordwind AG +Nordwind +CONCATENATE .* [0-9a-f-]{36}$", listed.stdout, re.M)
    page = said(run("graph", "merges", "--limit", "1", "--json"))
    (merge,) = cast("list[dict[str, object]]", page["merges"])
    assert (merge["mergeId"], merge["sources"], page["nextAfter"]) == (
        merged["mergeId"],
        ["Nordwind AG"],
        None,
    )
    assert run("graph", "merges", "--after", str(merge["mergeId"])).stdout.startswith(
        "There are no"
    )
    assert run("graph", "rename", "Nordwind", "Nordwind Group").exit_code == 0
    run("graph", "describe", "Nordwind Group", "--kind", "company", "--description", "A buyer.")
    described = run("graph", "describe", "Nordwind Group", "--alias", "NG").stdout
    assert re.search(r"^also called +.*\bNG\b", described, re.M)
    entity = said(run("graph", "show", "Nordwind", "--json"))
    assert (entity["entityName"], entity["entityType"]) == ("Nordwind Group", "company")
    assert entity["description"] == "A buyer."
    assert entity["aliases"] == ["Nordwind", "Nordwind AG", "NG"]
    apart = run("graph", "unmerge", str(merged["mergeId"]))
    assert apart.stdout == "Separate entities again: Nordwind AG.\n"
    assert run("graph", "reject", "Nordwind", "Nordwind AG").exit_code == 0
    assert "There are no possible duplicates" in run("graph", "proposals").stdout


def test_s2_8_split_unsplit_and_splits(run: Run) -> None:
    path = str(
        cast("list[object]", said(run("graph", "show", "Osprey", "--json"))["sourceFilePaths"])[0]
    )
    done = said(
        run("graph", "split", "Osprey", "--into", "Osprey Oslo", "--document", path, "--json")
    )
    assert cast("dict[str, object]", done["part"])["entityName"] == "Osprey Oslo"
    page = said(run("graph", "splits", "--limit", "1", "--json"))
    (split,) = cast("list[dict[str, object]]", page["splits"])
    assert (split["splitId"], split["part"], split["names"], split["documents"]) == (
        done["splitId"],
        "Osprey Oslo",
        ["Osprey"],
        [path],
    )
    assert "Osprey Oslo" in run("graph", "splits").stdout
    assert run("graph", "splits", "--after", "x").exit_code == 2
    assert run("graph", "split", "Osprey Oslo", "--into", "Tern").exit_code == 2
    assert run("graph", "unsplit", "Osprey Oslo").stdout == (
        "The split is undone. These entities have the mentions again: Osprey.\n"
    )
    assert run("graph", "unsplit", str(done["splitId"])).exit_code == 3
    assert run("graph", "splits").stdout.startswith("There are no splits")


def test_another_kind_changes_the_reference_and_says_so(run: Run) -> None:
    words = ("graph", "describe", "Nordwind", "--kind", "company")
    told = run(*words).stdout
    assert "The reference is now kg:company:nordwind; " in told
    assert "still names the same entity." in told
    old = told.rsplit("; ", 1)[1].split()[0]
    assert said(run("graph", "show", old, "--json"))["entityRef"] == "kg:company:nordwind"
    assert "The reference is" not in run(*words).stdout


def test_entities_and_relations_by_hand(run: Run) -> None:
    made = said(run("graph", "create", "Pump 7", "--kind", "machine", "--json"))
    assert made["entityRef"] == "kg:machine:pump-7"
    related = run("graph", "relate", "Pump 7", "Osprey", "--predicate", "part_of", "--weight", "2")
    assert "PART_OF" in related.stdout
    assert run("graph", "unrelate", "Pump 7", "Osprey", "--predicate", "PART_OF").exit_code == 0
    assert run("graph", "unrelate", "Pump 7", "Osprey", "--predicate", "PART_OF").exit_code == 3
    assert run("graph", "hide", "Jane Smith").exit_code == 2
    assert run("graph", "hide", "Jane Smith", "--yes").exit_code == 0
    assert "Jane" not in run("graph", "list").stdout
    assert run("graph", "unhide", "Jane Smith").exit_code == 0
    page = said(run("graph", "list", "--limit", "2", "--json"))
    rest = said(run("graph", "list", "--after", str(page["nextAfter"]), "--json"))
    assert names(page) + names(rest) == [
        "Jane Smith",
        "Nordwind",
        "Nordwind AG",
        "Osprey",
        "Pump 7",
        "Tarn Valley",
    ]


def test_wrong_words_end_with_their_exit_code(run: Run) -> None:
    assert run("graph", "show", "Nordwind", who="team:them").exit_code == 3
    assert run("graph", "merge", "Nordwind", "--into", "nordwind").exit_code == 2
    assert (
        run(
            "graph", "merge", "Nordwind", "--into", "Osprey", "--strategy", "llm_summarize"
        ).exit_code
        == 2
    )
    assert (
        run("graph", "merge", "Nordwind", "--into", "Osprey", "--strategy", "magic").exit_code == 2
    )
    assert run("graph", "rename", "Nordwind", "X", "--acl", "team:them").exit_code == 2
    assert run("graph", "relate", "Nordwind", "Osprey", "--weight", "0").exit_code == 2
    assert run("graph", "list", who="no body").exit_code == 2
    assert run("graph", "merges", "--after", "Nordwind").exit_code == 2
    assert (
        run("graph", "list", who="team:them").stdout == "There are no entities that you may see.\n"
    )


def test_s1_7_many_at_once_in_pages_and_by_passage(run: Run) -> None:
    page = said(run("graph", "relations", "--limit", "1", "--json"))
    (first,) = cast("list[dict[str, str]]", page["relations"])
    rest = said(
        run(
            "graph",
            "relations",
            "--after",
            cast("str", page["nextAfter"]),
            "--limit",
            "99",
            "--json",
        )
    )
    assert first["relation"] == page["nextAfter"]
    listed = [first, *cast("list[dict[str, str]]", rest["relations"])]
    assert len({relation["relation"] for relation in listed}) == len(listed) > 2
    assert rest["nextAfter"] is None
    passage = first["sourceChunkIds"][0]
    assert names(said(run("graph", "entities-of", passage, "--json")))
    stated = said(run("graph", "relations", "--passage", passage, "--json"))
    assert 0 < len(cast("list[object]", stated["relations"])) < len(listed)
    gone = run("graph", "hide-relations", first["relation"], "--yes")
    assert gone.stdout.startswith("Hidden now: ")
    assert run("graph", "hide-entities", "Osprey", "Nobody", "--yes").exit_code == 3
    assert names(said(run("graph", "list", "--json"))).count("Osprey") == 1
    assert "is hidden now" in run("graph", "hide-entities", "Osprey", "--yes").stdout
    assert run("graph", "hide-relations", "no key", "--yes").exit_code == 2


def test_s0_2_and_s0_4_passages_and_keywords_are_told(run: Run) -> None:
    told = said(run("documents", "passages", "a.md", "--as", "team:us", "--json"))
    (passage,) = cast("list[dict[str, dict[str, object]]]", told["passages"])
    assert (passage["metadata"]["chunkIndex"], passage["metadata"]["llmCacheIds"]) == (0, [])
    words = said(run("keywords", "Who met Jane Smith?", "--json"))
    assert (words["lowLevelKeywords"], words["byModel"]) == (["Jane Smith"], False)


def test_s0_3_a_project_is_deleted_by_name(run: Run) -> None:
    assert run("project", "delete", "default").exit_code == 2
    assert run("project", "delete", "other", "--yes").exit_code == 3
    assert run("project", "delete", "default", "--yes").exit_code == 0
    assert names(said(run("graph", "list", "--json"))) == []
