"""GitHub's connector against the stand-in for GitHub."""

import random
from collections.abc import Awaitable, Callable, Generator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest
import stamina

from lightwell.connectors.api_client import ApiClient
from lightwell.connectors.github.api import GithubApi, rate_limit_wait
from lightwell.connectors.github.documents import PART_POSTS
from lightwell.connectors.github.files import FileReader
from lightwell.connectors.github.models import Repository
from lightwell.connectors.github.source import open_github
from lightwell.connectors.webhooks import sign
from lightwell.domain.errors import Invalid, Refused, SourceFailed
from lightwell.domain.formats import Format
from lightwell.domain.ids import GlobalRef
from lightwell.domain.item_structure import LinkType
from lightwell.testing.connector_contract import Genuine, check_connector
from tests.connectors.pulling import Shelf, in_parts
from tests.github_stand_in.server import make_github_app
from tests.github_stand_in.state import API, SECRET, TOKEN, WEB
from tests.github_world import Forge, opened


@pytest.fixture(autouse=True)
def _no_waiting() -> Generator[None]:
    stamina.set_testing(True, attempts=3)
    yield
    stamina.set_testing(False)


def issue_of(forge: Forge, number: int) -> str:
    return f"github:issue:{forge.tarn.row['id']}-{number}"


async def test_the_contract_of_connectors() -> None:
    forge = Forge()
    headers, body = forge.github.webhook("issues", forge.tarn, issue={"number": forge.issue})
    webhook = Genuine(headers=headers, body=body, received_at=forge.github.now, has_time=False)
    unknown = GlobalRef(issue_of(forge, 999))
    async with opened(forge.github, "halden/tarn,halden/docs,halden/nope") as source:
        await check_connector(source, unknown=unknown, webhook=webhook)


async def test_an_issue_reads_as_a_thread_with_its_comments() -> None:
    forge, shelf = Forge(), Shelf()
    async with opened(forge.github) as source:
        await shelf.sync(source)
    issue = shelf.one(issue_of(forge, forge.issue))
    assert issue.content.decode() == (
        "Issue: halden/tarn#1\nTitle: Pump stops at night\nStatus: open\nAuthor: bob\nAssignees: ada\nLabels: bug\n"
        "Opened: 2026-03-02 09:03 UTC\n\nSteps\nThe pump stops at two.\n\n"
        "## ada, 2026-03-02 09:06 UTC\n\nThe valve is frozen, see halden/docs#1."
    )
    assert issue.title == "halden/tarn#1: Pump stops at night"
    assert issue.metadata["work_state"] == "open"
    assert issue.url == f"{WEB}/halden/tarn/issues/1"
    assert issue.acl_tags == {f"github:repo:{forge.tarn.row['id']}"}
    assert issue.author_ref == f"github:user:{forge.bob}"
    assert issue.created_at == datetime(2026, 3, 2, 9, 3, tzinfo=UTC)
    pull = shelf.one(issue_of(forge, forge.pull))
    assert pull.kind == "pull-request"
    assert "bob, 2026-03-02 09:08 UTC, approved\n\nGood work." in pull.content.decode()
    assert "bob, 2026-03-02 09:09 UTC, on heat.py\n\nUse kelvin." in pull.content.decode()
    assert "never-store-this" not in str(shelf.documents)


async def test_structure_says_who_what_and_which_issue_a_pull_request_closes() -> None:
    forge, shelf = Forge(), Shelf()
    async with opened(forge.github) as source:
        await shelf.sync(source)
    issue, docs = shelf.one(issue_of(forge, forge.issue)).structure, forge.docs.row["id"]
    own = issue.entities[0].ref
    said = {(each.type, each.relation, each.target) for each in issue.links if each.source == own}
    assert {
        (LinkType.BELONGS_TO, "repository", f"github:repository:{forge.tarn.row['id']}"),
        (LinkType.RELATED_TO, "author", f"github:user:{forge.bob}"),
        (LinkType.RELATED_TO, "assignee", f"github:user:{forge.ada}"),
        (LinkType.MENTIONS, "mentions", f"github:issue:{docs}-{forge.public}"),
    } <= said
    threads = [each.source for each in issue.links if each.type is LinkType.THREAD_OF]
    assert threads == [f"github:comment:{forge.comment}"]
    pull = shelf.one(issue_of(forge, forge.pull)).structure
    closed = [each.target for each in pull.links if each.relation == "closes"]
    assert closed == [own]
    assert {"author", "reviewer"} <= {each.relation for each in pull.links}


async def test_a_second_sync_costs_nothing_of_the_rate_limit_and_reads_only_what_changed() -> None:
    forge, shelf = Forge(), Shelf()
    for number in range(120):
        forge.github.add_issue(forge.tarn, f"Issue {number}", None, author=forge.bob)
    async with opened(forge.github) as source:
        await shelf.sync(source)
        assert len([ref for ref in shelf.documents if ":issue:" in ref]) == 123
        await shelf.sync(source)
        before = forge.github.charged
        await shelf.sync(source)
        assert shelf.changed == []
        assert forge.github.charged == before
        forge.github.write_files(forge.tarn, {"docs/start.md": b"Hold it.", "README.md": None})
        forge.github.change_issue(forge.tarn, 7, title="Changed")
        forge.github.calls.clear()
        await shelf.sync(source)
    assert sorted(shelf.changed) == [
        f"{WEB}/halden/tarn/blob/main/docs/start.md",
        f"{WEB}/halden/tarn/issues/7",
    ]
    assert GlobalRef(f"github:file:{forge.tarn.row['id']}/README.md") not in shelf.documents
    assert len([call for call in forge.github.calls if "/blobs/" in call]) == 1


@pytest.mark.parametrize("is_truncating", [False, True])
async def test_every_format_is_read_and_skipped_as_in_a_folder(*, is_truncating: bool) -> None:
    forge, shelf = Forge(), Shelf()
    forge.github.is_truncating = is_truncating
    page = b"<!doctype html><p>Mind the pumps."
    forge.github.write_files(
        forge.tarn,
        {
            **{"site/page.html": page, "LICENSE": b"Free.", "scan.pdf": b"%PDF-1.7 broken"},
            **{"photo.png": b"\x89PNG", "tool": b"\x7fELF\x00", "empty.txt": b" "},
            **{"package.json": b"{}", "package-lock.json": b"{}", "vendor/a.md": b"A."},
            **{"docs/vendor/b.md": b"B.", "web/node_modules/c.md": b"C.", ".github/d.md": b"D."},
            "odd.md": b"\x89PNG\r\n\x1a\n",
        },
    )
    async with opened(forge.github) as source:
        await shelf.sync(source)
        name = f"github:file:{forge.tarn.row['id']}/"
        files = {ref.removeprefix(name) for ref in shelf.documents if ref.startswith(name)}
        read = {"README.md", "docs/start.md", "heat.py", "site/page.html", "LICENSE", "scan.pdf"}
        assert files - {"package.json"} == read | {"docs/vendor/b.md"}
        assert [each.reason for each in shelf.unreadable] == ["binary"]
        document = shelf.one(GlobalRef(f"{name}site/page.html"))
        assert (document.content, document.format, document.is_file) == (page, Format.HTML, True)
        forge.github.write_files(forge.tarn, {"site/page.html": page + b" Twice a day."})
        await shelf.sync(source)
    assert shelf.changed == [f"{WEB}/halden/tarn/blob/main/site/page.html"]


async def test_when_another_format_is_read_all_files_are_looked_at_again() -> None:
    forge = Forge()
    async with opened(forge.github) as source:
        pages = [page async for page in source.pull("file", "")]
        earlier = pages[-1].cursor.replace('"formats":"', '"formats":"other')
        again = [page async for page in source.pull("file", earlier)]
    assert [item.ref for page in again for item in page.items] == [
        item.ref for page in pages for item in page.items
    ]


async def test_edited_and_deleted_comments_and_issues() -> None:
    forge, shelf = Forge(), Shelf()
    github, ref = forge.github, GlobalRef(issue_of(forge, forge.issue))
    async with opened(github) as source:
        await shelf.sync(source)
        github.edit_comment(forge.tarn, forge.comment, "The valve is warm.")
        await shelf.sync(source)
        assert "warm" in shelf.text(ref)
        github.delete_comment(forge.tarn, forge.comment)
        event = github.webhook("issue_comment", forge.tarn, issue={"number": forge.issue})
        await shelf.fetch(source, source.read_webhook(*event, github.now).refs)
        assert "warm" not in shelf.text(ref)
        github.delete_issue(forge.tarn, forge.issue)
        await shelf.sweep(source)
    assert ref not in shelf.documents
    assert GlobalRef(issue_of(forge, forge.pull)) in shelf.documents


async def test_records_that_are_edited_while_they_are_paged_through_are_all_there() -> None:
    forge, chance = Forge(), random.Random(3)
    for number in range(230):
        forge.github.add_issue(forge.tarn, f"Issue {number}", None, author=forge.bob)
    edits = iter(range(12))

    def disturb(call: str) -> None:
        if call.endswith("/issues") and next(edits, None) is not None:
            number = chance.choice(sorted(forge.tarn.issues))
            forge.github.change_issue(forge.tarn, number, body=f"Edited {call}")
            forge.github.write_files(forge.tarn, {f"new{number}.md": b"New."})
            forge.github.delete_issue(forge.tarn, chance.choice(sorted(forge.tarn.issues)))

    forge.github.before = disturb
    async with opened(forge.github) as source:
        cut = Shelf()
        for pages in (1, 2, 1, 3):  # killed behind so many pages, and begun again
            await cut.sync(source, pages=pages)
        await cut.sync(source)
        forge.github.before = lambda call: None
        await cut.sync(source)
        await cut.sweep(source)
        clean = Shelf()
        await clean.sync(source)
    assert cut.hashes() == clean.hashes()


async def test_many_issues_of_one_moment_are_all_read() -> None:
    forge, shelf = Forge(), Shelf()
    for number in range(250):
        forge.github.add_issue(forge.tarn, f"Issue {number}", None, author=forge.bob)
    for row in forge.tarn.issues.values():
        row["updated_at"] = forge.github.stamp()
    async with opened(forge.github) as source:
        await shelf.sync(source)
    assert len([ref for ref in shelf.documents if ":issue:" in ref]) == 253


async def test_a_long_thread_has_parts_and_a_new_comment_changes_the_last_one() -> None:
    forge, shelf = Forge(), Shelf()
    for number in range(PART_POSTS + 50):
        forge.github.comment(forge.tarn, forge.issue, f"Comment {number}", author=None)
    async with opened(forge.github) as source:
        await shelf.sync(source)
        forge.github.comment(forge.tarn, forge.issue, "One more", author=forge.ada)
        await shelf.sync(source)
    assert shelf.changed == [f"{WEB}/halden/tarn/issues/1#part-2"]
    assert "a deleted account" in shelf.text(issue_of(forge, forge.issue))


async def test_groups_say_who_may_see_which_repository() -> None:
    forge = Forge()
    tarn = f"github:repo:{forge.tarn.row['id']}"
    async with opened(forge.github) as source:
        before = await source.directory()
        forge.tarn.collaborators.remove(forge.bob)
        forge.docs.row["private"] = True
        after = await source.directory()
        forge.github.readable_by_token = {int(str(forge.docs.row["id"]))}
        hidden = await source.directory()
    groups = {each.tags: each.members for each in before.groups}
    everybody = {str(forge.ada), str(forge.bob), str(forge.cy)}
    assert groups[frozenset((tarn,))] == {str(forge.ada), str(forge.bob)}
    assert groups[frozenset((f"github:repo:{forge.docs.row['id']}",))] == everybody
    assert "ada@halden.example" in {each.email for each in before.people}
    assert {each.members for each in after.groups} == {frozenset((str(forge.ada),))}
    assert not any(tarn in each.tags for each in hidden.groups)


async def test_a_renamed_repository_keeps_its_items_and_a_lost_one_is_reported() -> None:
    forge, shelf = Forge(), Shelf()
    async with opened(forge.github) as source:
        await shelf.sync(source)
        before = set(shelf.documents)
    forge.github.rename(forge.tarn, "halden/lake")
    async with opened(forge.github) as source:
        await shelf.sync(source)
        assert set(shelf.documents) == before
        assert shelf.one(issue_of(forge, 1)).url == f"{WEB}/halden/lake/issues/1"
    forge.github.former_names.clear()
    async with opened(forge.github) as source:
        await shelf.sync(source)
        assert "halden/tarn" in shelf.unreadable[-1].message
        await shelf.sweep(source)
    assert not any(str(forge.tarn.row["id"]) in ref for ref in shelf.documents)


async def test_a_folder_too_large_for_one_answer_is_read_by_its_levels() -> None:
    forge, shelf = Forge(), Shelf()
    forge.github.is_truncating = True
    forge.github.write_files(forge.tarn, {"docs/deep/down.md": b"Deep.", "bad.md": b"\xff"})
    async with opened(forge.github) as source:
        await shelf.sync(source)
    files = {ref.rpartition("/")[2] for ref in shelf.documents if ":file:" in ref}
    assert files == {"README.md", "start.md", "heat.py", "down.md", "guide.md"}
    assert [each.reason for each in shelf.unreadable] == ["encoding"]


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (403, {"retry-after": "7"}, 7.0),
        (429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1772442090"}, 90.0),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1772442090"}, 90.0),
        (403, {"x-ratelimit-remaining": "12"}, 60.0),
        (404, {"retry-after": "7"}, None),
    ],
)
async def test_limits_in_all_forms_are_waited_for(
    status: int, headers: dict[str, str], expected: float | None
) -> None:
    date = {"date": "Mon, 02 Mar 2026 09:00:00 GMT"}
    text = "You have exceeded a secondary rate limit."
    assert rate_limit_wait(httpx.Response(status, headers=headers | date, text=text)) == expected
    forge, shelf = Forge(), Shelf()
    forge.github.refusals = [(status, headers)]
    if expected is not None:
        async with opened(forge.github) as source:
            await shelf.sync(source)
        assert shelf.documents


@pytest.mark.parametrize(
    "broken", ["a page for ever", "a tree in itself", "a move to nowhere", "a limit until never"]
)
async def test_a_broken_server_ends_a_call_with_a_message(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lightwell.connectors.github.api._MAX_PAGES", 3)
    tree = {"path": "again", "type": "tree", "mode": "040000", "sha": "a" * 40}
    never = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "9" * 5_000}
    answers = {
        "a page for ever": httpx.Response(200, json=[{"id": 1}] * 100),
        "a tree in itself": httpx.Response(
            200, json={"sha": "a" * 40, "tree": [tree], "truncated": True}
        ),
        "a move to nowhere": httpx.Response(301, headers={"location": "http://[::1"}),
        "a limit until never": httpx.Response(403, headers=never, text="rate limit"),
    }
    answer = answers[broken]
    transport = httpx.MockTransport(lambda request: in_parts(answer))
    async with httpx.AsyncClient(transport=transport, base_url=API) as client:
        api = GithubApi(ApiClient(name="GitHub", client=client, rate_limit_wait=rate_limit_wait))
        files = FileReader(api, Repository.model_validate(Forge().tarn.row))
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "a page for ever": lambda: api.list_allowed("/rows"),
            "a tree in itself": lambda: files.read_tree("a" * 40),
        }
        call = calls.get(broken, lambda: api.find_moved("/repos/halden/tarn"))
        with pytest.raises(SourceFailed):
            await call()


async def test_a_refusal_that_is_no_limit_ends_the_sync() -> None:
    assert rate_limit_wait(httpx.Response(403, text="Resource not accessible by token")) is None
    forge = Forge()
    transport = httpx.ASGITransport(make_github_app(forge.github))
    options = {"repositories": "halden/tarn", "base_url": "https://api.github.test"}
    async with open_github(options, "wrong", SECRET, transport) as source:
        with pytest.raises(SourceFailed, match="check the token"):
            await source.directory()


async def test_a_server_of_github_enterprise_has_its_own_address() -> None:
    forge, shelf = Forge(), Shelf()
    transport = httpx.ASGITransport(make_github_app(forge.github, "/api/v3"))
    options = {"repositories": "halden/docs", "base_url": "https://git.halden.example/api/v3/"}
    async with open_github(options, TOKEN, SECRET, transport) as source:
        await shelf.sync(source)
    assert f"github:repository:{forge.docs.row['id']}" in shelf.documents


async def test_webhooks_name_what_to_fetch() -> None:
    forge = Forge()
    id_ = forge.tarn.row["id"]
    commits = [{"added": ["docs/a.md", "b.png"], "modified": [], "removed": ["old.md"]}]
    async with opened(forge.github) as source:
        push = forge.github.webhook("push", forge.tarn, ref="refs/heads/main", commits=commits)
        hint = source.read_webhook(*push, forge.github.now)
        assert hint.refs == (f"github:file:{id_}/docs/a.md", f"github:file:{id_}/old.md")
        branch = forge.github.webhook("push", forge.tarn, ref="refs/heads/x", commits=commits)
        assert source.read_webhook(*branch, forge.github.now).refs == ()
        gone = forge.github.webhook("member", forge.tarn)
        assert source.read_webhook(*gone, forge.github.now).directory
        review = forge.github.webhook("pull_request_review", forge.tarn, pull_request={"number": 2})
        assert source.read_webhook(*review, forge.github.now).refs == (issue_of(forge, 2),)
        headers, body = review
        with pytest.raises(Refused):
            source.read_webhook(
                {**headers, "x-hub-signature-256": "sha256=00"}, body, forge.github.now
            )


async def test_a_captured_webhook_counts_once_in_ten_minutes_whatever_its_unsigned_headers_say() -> (
    None
):
    forge = Forge()
    noon = datetime(2026, 11, 26, 12, 0, tzinfo=UTC)
    async with opened(forge.github) as source:
        headers, body = forge.github.webhook("issues", forge.tarn, issue={"number": 2})
        first = source.read_webhook(headers, body, noon)
        for minutes, is_new in ((0, False), (9, False), (10, True)):
            again = source.read_webhook(
                {
                    **headers,
                    "x-github-delivery": f"other {minutes}",
                    "x-github-event": "pull_request",
                },
                body,
                noon + timedelta(minutes=minutes),
            )
            assert (again.delivery != first.delivery) == is_new
        _, other = forge.github.webhook("issues", forge.tarn, issue={"number": 3})
        signed = {**headers, "x-hub-signature-256": f"sha256={sign(other, SECRET)}"}
        assert source.read_webhook(signed, other, noon).delivery != first.delivery


async def test_who_is_removed_added_and_removed_again_is_asked_for_again() -> None:
    """The two bodies are equal. No captured one, sent as another event, stands for the directory's either."""
    forge = Forge()
    noon = datetime(2026, 11, 26, 12, 0, tzinfo=UTC)
    async with opened(forge.github) as source:
        headers, body = forge.github.webhook("membership", forge.tarn, action="removed")
        first = source.read_webhook(headers, body, noon)
        again = source.read_webhook(headers, body, noon + timedelta(minutes=1))
        other = source.read_webhook({**headers, "x-github-event": "ping"}, body, noon)
    assert first.directory
    assert again.directory
    assert len({first.delivery, again.delivery, other.delivery}) == 3


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"repositories": "halden"},
        {"repositories": "halden/.."},
        {"repositories": "halden/tarn", "color": "red"},
    ],
)
async def test_wrong_options_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(Invalid):
        async with open_github(options, TOKEN, SECRET):
            pass


async def test_what_is_too_large_costs_only_its_item() -> None:
    forge, shelf = Forge(), Shelf()
    forge.github.write_files(forge.tarn, {"large.md": b"x" * 100_000})
    forge.github.comment(forge.docs, forge.public, "y" * 100_000, author=forge.cy)
    async with opened(forge.github) as source:
        source.api = GithubApi(replace(source.api.client, max_bytes=60_000))
        for stream in ("issue", "file"):
            async for page in source.pull(stream, ""):
                await shelf.store(page)
    reasons = {each.ref: each.reason for each in shelf.unreadable}
    numbers = [forge.tarn.row["id"], forge.docs.row["id"]]
    assert reasons == {
        f"github:file:{numbers[0]}/large.md": "too_large",
        f"github:issue:{numbers[1]}-{forge.public}": "too_large",
    }
    assert GlobalRef(f"github:issue:{numbers[0]}-{forge.issue}") in shelf.documents
