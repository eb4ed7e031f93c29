import asyncio
import os
import shutil
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from lightwell.connectors._file_settings import parse_folder_settings
from lightwell.connectors._gitignore import parse_gitignore
from lightwell.connectors.files import MAX_BYTES, Files
from lightwell.domain.documents import Format
from lightwell.domain.errors import Invalid, SourceFailed
from lightwell.domain.folder_tags import FolderTags
from lightwell.ports import (
    Change,
    ChangedDocument,
    RemovedDocument,
    SkippedFiles,
    UnchangedDocument,
    UnreadableDocument,
)

DEFAULT = frozenset({"team:default"})


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def read(
    root: Path, known: Mapping[str, str] | None = None, max_bytes: int = MAX_BYTES
) -> list[Change]:
    async def collected() -> list[Change]:
        source = Files(root, DEFAULT, max_bytes=max_bytes)
        return [each async for each in source.changes(known or {})]

    return asyncio.run(collected())


def told(changes: list[Change]) -> list[tuple[str, str]]:
    """Return what happened to which file, as (name, word); what is skipped is no file of its own."""
    return [
        (change.document.source_id, "changed")
        if isinstance(change, ChangedDocument)
        else (change.url.rsplit("/", 1)[1], _word(change))
        for change in changes
        if not isinstance(change, SkippedFiles)
    ]


def skipped(changes: list[Change]) -> dict[str, int]:
    (counts,) = [change.kinds for change in changes if isinstance(change, SkippedFiles)] or [{}]
    return dict(counts)


def _word(change: UnchangedDocument | RemovedDocument | UnreadableDocument) -> str:
    match change:
        case UnchangedDocument():
            return "unchanged"
        case RemovedDocument():
            return "gone"
        case UnreadableDocument():
            return change.reason


def hashes(changes: list[Change]) -> dict[str, str]:
    return {
        change.document.url: change.document.content_hash
        for change in changes
        if isinstance(change, ChangedDocument)
    }


def tags(root: Path) -> dict[str, list[str]]:
    return {
        change.document.source_id: sorted(change.document.acl_tags)
        for change in read(root)
        if isinstance(change, ChangedDocument)
    }


def test_a_folder_is_read_in_the_order_of_its_paths(tmp_path: Path) -> None:
    write(tmp_path, {"b.md": "# B", "a/z.txt": "z", "a/Größe 1.md": "x", "c.html": "<p>c"})
    changes = read(tmp_path)
    assert told(changes) == [
        (name, "changed") for name in ("a/Größe 1.md", "a/z.txt", "b.md", "c.html")
    ]
    first = changes[0]
    assert isinstance(first, ChangedDocument)
    document = first.document
    assert document.url == (tmp_path.resolve() / "a" / "Größe 1.md").as_uri()
    assert (document.system, document.kind, document.format) == (
        "file",
        "document",
        Format.MARKDOWN,
    )
    assert (document.content, document.acl_tags, document.title) == (b"x", DEFAULT, "")
    assert document.updated_at is not None


def test_only_what_differs_comes_again(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "a", "b.md": "b", "c.md": "c"})
    known = hashes(read(tmp_path))
    write(tmp_path, {"b.md": "different"})
    (tmp_path / "c.md").unlink()
    elsewhere = {"file:///elsewhere/x.md": "0", tmp_path.as_uri() + "-two/x.md": "0"}
    changes = read(tmp_path, known | elsewhere)
    assert told(changes) == [("c.md", "gone"), ("a.md", "unchanged"), ("b.md", "changed")]
    same = changes[1]
    assert isinstance(same, UnchangedDocument)
    assert same.document.content == b""


def test_new_tags_leave_content_unchanged_and_a_new_title_does_not(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "a"})
    known = hashes(read(tmp_path))
    write(tmp_path, {".lightwell.yaml": "acl_tags: [user:ada]"})
    (same,) = read(tmp_path, known)
    assert isinstance(same, UnchangedDocument)
    assert same.document.acl_tags == {"user:ada"}
    write(tmp_path, {".lightwell.yaml": "files: {a.txt: {title: New}}"})
    assert told(read(tmp_path, known)) == [("a.txt", "changed")]


def test_the_nearest_word_about_access_wins(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "plain.txt": "x",
            "in/.lightwell.yaml": "acl_tags: [team:in]\nfiles:\n  '*.md': {acl_tags: team:md}\n"
            "  deep/**/x.txt: {acl_tags: 'team:x, team:y'}",
            "in/a.txt": "x",
            "in/b.md": "x",
            "in/c.md": "---\nacl_tags: [user:ada]\n---\nx",
            "in/d.md": "---\nacl_tags: []\n---\nx",
            "in/deep/two/x.txt": "x",
            "in/own/.lightwell.yaml": "acl_tags: [team:own]",
            "in/own/e.md": "x",
            "in/silent/.lightwell.yaml": "topic: quiet",
            "in/silent/f.md": "x",
        },
    )
    assert tags(tmp_path) == {
        "plain.txt": ["team:default"],
        "in/a.txt": ["team:in"],
        "in/b.md": ["team:md"],
        "in/c.md": ["user:ada"],
        "in/d.md": [],
        "in/deep/two/x.txt": ["team:x", "team:y"],
        "in/own/e.md": ["team:own"],
        "in/silent/f.md": ["team:md"],
    }


def test_the_nearest_folder_says_where_browsers_find_its_files(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            ".lightwell.yaml": "base_url: https://files.example.com/all/",
            "a b.md": "A.",
            "sales/offer.md": "---\nsource_address: https://foreign.example/\n---\nAn offer.",
            "people/.lightwell.yaml": "base_url: https://people.example.com",
            "people/plan.md": "A plan.",
        },
    )
    documents = [each.document for each in read(tmp_path) if isinstance(each, ChangedDocument)]
    assert [each.metadata["source_address"] for each in documents] == [
        "https://files.example.com/all/a%20b.md",
        "https://people.example.com/plan.md",
        "https://files.example.com/all/sales/offer.md",
    ]
    write(tmp_path, {".lightwell.yaml": "", "people/.lightwell.yaml": ""})
    changes = read(tmp_path, {each.url: each.content_hash for each in documents})
    assert [word for _, word in told(changes)] == ["unchanged"] * 3
    unchanged = [each.document for each in changes if isinstance(each, UnchangedDocument)]
    assert not any("source_address" in each.metadata for each in unchanged)


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "file:///srv", "https://ada:key@x.example", "//x.example", "a?b"],
)
def test_only_an_address_of_the_web_is_one(address: str) -> None:
    with pytest.raises(Invalid, match="base_url"):
        parse_folder_settings({"base_url": address}, ".lightwell.yaml")


def test_title_topic_author_and_metadata_are_taken_over(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            ".lightwell.yaml": "topic_tag: sales\nauthor: Bob\nmetadata: {region: north, year: 2026}",
            "a.md": "---\ntitle: Plan\nauthor: Ada\ndate: 2026-01-02\ntags: [x]\n"
            "metadata: {region: south}\n---\nx",
        },
    )
    (change,) = read(tmp_path)
    assert isinstance(change, ChangedDocument)
    document = change.document
    assert (document.title, document.topic) == ("Plan", "sales")
    assert document.metadata == {
        "region": "south",
        "year": "2026",
        "author": "Ada",
        "date": "2026-01-02",
        "tags": "x",
    }


@pytest.mark.parametrize(
    ("front_matter", "message"),
    [
        ("acl_tag: [team:x]", "'acl_tag'"),
        ("acl_tags: [a b]", "'a b' is not an access tag"),
        ("acl_tags: [12:30]", "quote"),
        ("acl_tags: {a: b}", "list of words"),
        ("title: [a]", "'title'"),
        ("topic: a\ntopic_tag: b", "keep one"),
        ("metadata: x", "'metadata'"),
        ("title: 'open", "line"),
        ("title: &a x\ntopic: *a", "aliases"),
        ("title: " + "[" * 5000, "nested"),
    ],
)
def test_wrong_front_matter_breaks_its_own_file_only(
    tmp_path: Path, front_matter: str, message: str
) -> None:
    write(tmp_path, {"a.md": f"---\n{front_matter}\n---\nx", "b.md": "x"})
    broken, fine = read(tmp_path)
    assert isinstance(broken, UnreadableDocument)
    assert broken.reason == "settings"
    assert message in broken.message
    assert isinstance(fine, ChangedDocument)


@pytest.mark.parametrize(
    "yaml",
    [
        "acl: [x]",
        "- a",
        "files: {'*': {ignore: x}}",
        "\xff",
        "a" * 70_000,
        "acl_tags: [team:a]\nacl_tags: [team:b]",
        "files: {'*': {acl_tags: [team:a], acl_tags: [team:b]}}",
        "files:\n  '*.md': {acl_tags: [team:a]}\n  '*.md': {topic: x}",
        "files: {'*': {acl_tags: [team:a]}}\nfiles: {'x': {topic: x}}",
    ],
)
def test_a_folder_whose_settings_are_wrong_hands_over_nothing(tmp_path: Path, yaml: str) -> None:
    write(tmp_path, {"in/a.md": "x", "out.md": "x"})
    known = hashes(read(tmp_path))
    (tmp_path / "in" / ".lightwell.yaml").write_bytes(yaml.encode("latin-1"))
    assert told(read(tmp_path, known)) == [("in", "settings"), ("out.md", "unchanged")]


def test_hidden_ignored_and_foreign_files_are_passed_over(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            ".lightwell.yaml": "ignore: ['*.log', drafts/, /top/only.md]",
            ".hidden.md": "x",
            ".git/a.md": "x",
            "a.log": "x",
            "drafts/a.md": "x",
            "in/drafts/a.md": "x",
            "in/top/only.md": "x",
            "top/only.md": "x",
            "photo.SVG": b"<svg/>",
            "code.xyz": "x",
            "program": b"\x7fELF\x00\x01",
            "blank.md": "\n",
        },
    )
    os.mkfifo(tmp_path / "pipe.md")
    changes = read(tmp_path)
    assert told(changes) == [("in/top/only.md", "changed")]
    assert skipped(changes) == {
        **{".svg": 1, ".xyz": 1, "binary": 1, "empty": 1, "hidden": 1},
        "in .lightwell.yaml": 4,
    }


def test_a_file_that_is_named_or_was_read_is_not_skipped(tmp_path: Path) -> None:
    write(tmp_path, {"a.xyz": "x", "b.md": "x"})
    assert told(read(tmp_path / "a.xyz")) == [("a.xyz", "unsupported")]
    known = {(tmp_path.resolve() / "a.xyz").as_uri(): "0"}
    changes = read(tmp_path, known)
    assert told(changes) == [("a.xyz", "unsupported"), ("b.md", "changed")]
    assert skipped(changes) == {}


def test_what_others_wrote_and_programs_made_is_skipped_and_read_on_purpose(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "app/package.json": "x",
            "app/package-lock.json": "x",
            "app/read.md": "x",
            "app/node_modules/a/b.md": "x",
            "app/vendor/c.md": "x",
            "app/dist/page.html": "<p>x",
            "app/poetry.lock": "x",
            "app/page.min.html": "<p>x",
            "legal/vendor/contract.md": "x",
        },
    )
    changes = read(tmp_path)
    files = {name for name, _ in told(changes) if name.endswith((".md", ".html"))}
    assert files == {"app/read.md", "legal/vendor/contract.md"}
    assert skipped(changes).items() >= {
        ("node_modules/", 1),
        ("vendor/", 1),
        ("dist/", 1),
        ("lock files", 2),
        ("minified", 1),
    }
    assert told(read(tmp_path / "app" / "vendor")) == [("c.md", "changed")]
    write(tmp_path, {".lightwell.yaml": "ignore: ['!vendor/']"})
    assert ("app/vendor/c.md", "changed") in told(read(tmp_path))


async def test_a_folder_that_has_tags_of_its_own_is_read_with_the_one_above(tmp_path: Path) -> None:
    write(tmp_path, {"go.mod": "x", "vendor/a.md": "x"})
    vendor = (tmp_path / "vendor").as_uri()
    source = Files(tmp_path, DEFAULT, folder_tags=FolderTags({vendor: DEFAULT}))
    changes = [change async for change in source.changes({})]
    assert ("vendor/a.md", "changed") in told(changes)


def test_what_git_ignores_is_gone_and_nothing_is_when_its_file_cannot_be_read(
    tmp_path: Path,
) -> None:
    write(tmp_path, {"docs/a.md": "x", "docs/draft.md": "x", "docs/own/draft.md": "x"})
    known = hashes(read(tmp_path))
    write(tmp_path, {".gitignore": "draft.md\n", "docs/own/.gitignore": "!draft.md\n"})
    changes = read(tmp_path, known)
    assert told(changes) == [
        ("draft.md", "gone"),
        ("a.md", "unchanged"),
        ("draft.md", "unchanged"),
    ]
    assert skipped(changes) == {"in .gitignore": 1}
    (tmp_path / ".gitignore").unlink()
    (tmp_path / ".gitignore").mkdir()
    assert told(read(tmp_path, known)) == [(tmp_path.name, "settings")]


def test_git_of_the_repository_around_a_folder_decides_unless_the_folder_is_what_it_ignores(
    tmp_path: Path,
) -> None:
    write(tmp_path, {".gitignore": "built/\n*.log\n", "docs/a.log": "x", "docs/built/b.md": "x"})
    assert [name for name, _ in told(read(tmp_path / "docs"))] == ["a.log", "built/b.md"]
    (tmp_path / ".git").mkdir()
    assert told(read(tmp_path / "docs")) == []
    assert told(read(tmp_path / "docs" / "built")) == [("b.md", "changed")]


IGNORED = r"""
# comment
*.log
!keep.log
/root.md
docs/only.md
build/
**/deep/x.md
a/**/z.md
part/**
!part/kept.md
[ab]?.txt
[!a-c].csv
file\ with.md
trailing.md   
spaced\   
\#hash.md
\!bang.md
one/*/three
[unclosed
*.tmp*
white/*
!white/*/
white/*/*
!white/*/yes.md
[z-a].md
[]x].md
foo**bar.md
"""


@pytest.mark.skipif(not shutil.which("git"), reason="git itself is asked")
def test_a_gitignore_means_what_it_means_to_git(tmp_path: Path) -> None:
    names = """a.log keep.log in/b.log root.md in/root.md docs/only.md in/docs/only.md build/x.md in/build/y.md build2/x.md
    deep/x.md in/deep/x.md a/z.md a/b/c/z.md part/x.md part/kept.md part/in/kept.md ax.txt cx.txt abc.txt d.csv a.csv
    #hash.md !bang.md one/two/three one/three [unclosed x.tmp x.tmp.md white/no.md white/in/no.md white/in/yes.md
    z.md ].md x.md fooXbar.md foobar.md foo/bar.md sub/build""".split()
    names += ["file with.md", "trailing.md", "spaced ", "spaced"]
    write(tmp_path, {".gitignore": IGNORED, "sub/.gitignore": "!*.log\nown.md", "sub/own.md": "x"})
    write(tmp_path, dict.fromkeys([*names, "sub/c.log"], "x"))
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    listing = subprocess.run(
        [*git, "-c", "core.excludesFile=", "ls-files", "-z", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
    )
    kept = {name for name in listing.stdout.decode().split("\0") if name}
    source = Files(tmp_path, DEFAULT, format=Format.TEXT)

    async def names_read() -> set[str]:
        return {
            change.document.source_id
            async for change in source.changes({})
            if isinstance(change, ChangedDocument)
        }

    assert asyncio.run(names_read()) == {name for name in kept if ".gitignore" not in name}


def test_a_file_that_cannot_be_handed_over_is_broken_and_not_gone(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "x", "b.md": "x", "c.md": "x"})
    known = hashes(read(tmp_path))
    write(tmp_path, {"a.md": "x" * 2000, "b.md": b"\x89PNG\r\n\x1a\n"})
    changes = read(tmp_path, known, max_bytes=1000)
    assert told(changes) == [("a.md", "too_large"), ("b.md", "binary"), ("c.md", "unchanged")]


def test_links_lead_nowhere_outside(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(tmp_path, {"secret/s.md": "x", "root/real.md": "x"})
    (root / "alias.md").symlink_to(root / "real.md")
    (root / "dangling.md").symlink_to(root / "nothing.md")
    (root / "loop").symlink_to(root)
    (root / "out.md").symlink_to(tmp_path / "secret" / "s.md")
    (root / "outdir").symlink_to(tmp_path / "secret")
    changes = read(root)
    assert told(changes) == [("real.md", "changed")]
    assert skipped(changes) == {"links outside": 2}
    known = {(root / "outdir" / "was.md").as_uri(): "0", (root / "out.md").as_uri(): "0"}
    assert told(read(root, known)) == [
        ("out.md", "outside"),
        ("outdir", "outside"),
        ("real.md", "changed"),
    ]


@pytest.mark.parametrize(
    ("yaml", "author"),
    [
        ("author: {name: The Team, url: https://team.example}", "The Team"),
        ("author: [Ada, {name: Bo}, {url: x}]", "Ada, Bo"),
        ("author: [[Ada]]", "Ada"),
        ("author:", ""),
    ],
)
def test_authors_are_written_as_site_generators_write_them(
    tmp_path: Path, yaml: str, author: str
) -> None:
    write(tmp_path, {"a.md": f"---\n{yaml}\n---\nWords."})
    (change,) = read(tmp_path)
    assert isinstance(change, ChangedDocument)
    assert change.document.author == author


def test_a_template_of_documents_is_none(tmp_path: Path) -> None:
    made = "---\ntitle: {{ .Name }}\nacl_tags: {{ .Tags }}\n---\nWords."
    write(tmp_path, {"new.md": made, "broken.md": "---\ntitle: [\n---\nOf {{ braces }}."})
    changes = read(tmp_path)
    assert told(changes) == [("broken.md", "settings")]
    assert skipped(changes) == {"templates": 1}
    known = {(tmp_path / "new.md").as_uri(): "0"}
    assert told(read(tmp_path, known)) == [("broken.md", "settings"), ("new.md", "template")]


def test_a_single_file_keeps_the_settings_of_its_folder(tmp_path: Path) -> None:
    write(tmp_path, {".lightwell.yaml": "acl_tags: [team:x]", "a.md": "x", "b.md": "y"})
    (change,) = read(tmp_path / "a.md")
    assert isinstance(change, ChangedDocument)
    assert (change.document.source_id, change.document.acl_tags) == ("a.md", {"team:x"})
    everything = hashes(read(tmp_path))
    assert told(read(tmp_path / "a.md", everything)) == [("a.md", "unchanged")]


def test_a_missing_root_is_a_failure_and_not_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(SourceFailed, match="check the path"):
        read(tmp_path / "nowhere", {(tmp_path / "nowhere" / "a.md").as_uri(): "0"})


def test_names_that_are_no_unicode_are_read(tmp_path: Path) -> None:
    write(tmp_path, {os.fsdecode(b"caf\xe9.md"): "x"})
    (change,) = read(tmp_path)
    assert isinstance(change, ChangedDocument)
    assert change.document.source_id == "caf\\xe9.md"
    assert change.document.url.endswith("caf%E9.md")


async def test_a_file_has_the_same_tags_however_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "docs" / "hr").mkdir(parents=True)
    (tmp_path / "docs" / ".lightwell.yaml").write_text("acl_tags: [team:hr]\n")
    (tmp_path / "docs" / "hr" / "x.md").write_text("Words.")
    for root in (tmp_path / "docs", tmp_path / "docs" / "hr", tmp_path / "docs" / "hr" / "x.md"):
        changes = [change async for change in Files(root, frozenset({"everybody"})).changes({})]
        assert [
            change.document.acl_tags for change in changes if isinstance(change, ChangedDocument)
        ] == [{"team:hr"}]


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's file")
NOBODY = 65534


def shared(folder: Path) -> Path:
    """Make a folder, as /tmp is, in which everybody may write."""
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def assert_default_tags_hold(root: Path) -> None:
    assert set(map(tuple, tags(root).values())) == {("team:default",)}


def test_settings_above_a_folder_that_others_may_write_to_do_not_apply(tmp_path: Path) -> None:
    everybody = shared(tmp_path / "everybody")
    write(tmp_path, {".lightwell.yaml": "acl_tags: [user:mallory]"})
    write(everybody, {".lightwell.yaml": "acl_tags: [user:mallory]", "mine/a.md": "x"})
    assert_default_tags_hold(everybody / "mine")
    assert_default_tags_hold(everybody / "mine" / "a.md")
    told = Files(everybody / "mine", DEFAULT).describe_ignored_settings()
    assert [word.split(" does not apply: ")[0] for word in told] == [
        str(everybody / ".lightwell.yaml"),
        str(tmp_path / ".lightwell.yaml"),
    ]
    assert told[0].endswith(f": {everybody} can be changed by other users")


@needs_root
def test_settings_in_another_users_folder_above_do_not_apply(tmp_path: Path) -> None:
    write(tmp_path, {"theirs/.lightwell.yaml": "acl_tags: [user:mallory]", "theirs/mine/a.md": "x"})
    os.chown(tmp_path / "theirs", NOBODY, NOBODY)
    assert_default_tags_hold(tmp_path / "theirs" / "mine")
    (told,) = Files(tmp_path / "theirs" / "mine", DEFAULT).describe_ignored_settings()
    assert told.endswith(f": {tmp_path / 'theirs'} belongs to another user")


def test_the_settings_of_the_root_itself_apply_also_in_a_shared_folder(tmp_path: Path) -> None:
    root = shared(tmp_path / "everybody")
    write(root, {".lightwell.yaml": "acl_tags: [team:shared]", "a.md": "x"})
    assert tags(root) == {"a.md": ["team:shared"]}
    assert Files(root, DEFAULT).describe_ignored_settings() == []


@needs_root
def test_settings_above_that_another_user_owns_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {".lightwell.yaml": "acl_tags: [user:mallory]", "mine/a.md": "x"})
    os.chown(tmp_path / ".lightwell.yaml", NOBODY, NOBODY)
    with pytest.raises(
        SourceFailed, match=r"\.lightwell\.yaml belongs to another user; make yourself"
    ):
        read(tmp_path / "mine")


def make_unreadable(path: Path, kind: str) -> None:
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "link":
            (path.parent / "elsewhere.yaml").write_text("acl_tags: [user:mallory]")
            path.symlink_to(path.parent / "elsewhere.yaml")
        case _:
            path.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "device"])
def test_settings_that_are_no_regular_file_are_refused(tmp_path: Path, kind: str) -> None:
    write(tmp_path, {"in/deep/a.md": "x", "out.md": "x"})
    make_unreadable(tmp_path / "in" / ".lightwell.yaml", kind)
    assert told(read(tmp_path)) == [("in", "settings"), ("out.md", "changed")]
    with pytest.raises(SourceFailed, match=r"in/\.lightwell\.yaml cannot be read"):
        read(tmp_path / "in" / "deep")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything; run as another user")
def test_settings_above_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {".lightwell.yaml": "acl_tags: [team:x]", "in/a.md": "x"})
    (tmp_path / ".lightwell.yaml").chmod(0)
    with pytest.raises(SourceFailed, match="cannot be read: Permission denied"):
        read(tmp_path / "in")


def test_a_file_that_becomes_a_link_or_a_pipe_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {"root/a.md": "x", "root/b.md": "x", "secret.md": "x"})

    async def swapped() -> list[Change]:
        changes: list[Change] = []
        async for change in Files(tmp_path / "root", DEFAULT).changes({}):
            changes.append(change)
            if len(changes) == 1:
                (tmp_path / "root" / "b.md").unlink()
                (tmp_path / "root" / "b.md").symlink_to(tmp_path / "secret.md")
        return changes

    assert told(asyncio.run(swapped())) == [("a.md", "changed"), ("b.md", "unreadable")]


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("a/**", "a/b/c.md", True),
        ("a/**", "a", False),
        ("**/x.md", "x.md", True),
        ("**/x.md", "a/b/x.md", True),
        ("a/**/b/**/c.md", "a/b/x/b/c.md", True),
        ("a/**/b/**/c.md", "a/x/c.md", False),
        ("a*b*c", "axbxbxc", True),
        ("a*b*c", "axcxc", False),
        ("*.md", "deep/er/x.md", True),
        ("/*.md", "deep/x.md", False),
        ("?.md", "ab.md", False),
        ("a?.md", "ab.md", True),
        ("drafts", "in/drafts/x/y.md", True),
    ],
)
def test_patterns_fit_what_they_say(pattern: str, path: str, *, fits: bool) -> None:
    settings = parse_folder_settings({"ignore": [pattern]}, "here")
    assert settings.ignores(path) is fits


def test_no_pattern_of_git_takes_long_on_any_path() -> None:
    lines = ["*a" * 300 + "z", "**/a*/" * 150 + "z", "[a]*" * 200 + "z", "[" * 900, "/**" * 300]
    rules = parse_gitignore("\n".join(lines).encode(), Path("/"))
    deep = Path("/" + "/".join(["a" * 200] * 60))
    tried = threading.Thread(
        target=rules.decide, args=[deep], kwargs={"is_folder": False}, daemon=True
    )
    tried.start()
    tried.join(60)
    assert not tried.is_alive()


def test_no_pattern_takes_long_on_any_path() -> None:
    patterns = ["**/" * 13 + "zz", "*a" * 50 + "z", "a/**/" * 50 + "z", "**/a*/" * 40 + "z"]
    deep = "/".join(["aaaa"] * 60)
    settings = parse_folder_settings({"ignore": patterns}, "here")
    tried = threading.Thread(target=settings.ignores, args=[deep], daemon=True)
    tried.start()
    tried.join(60)
    assert not tried.is_alive()
