"""Which remembered tags apply to a file."""

from lightwell.domain.folder_tags import FolderTags, urls_at_and_above

US, PAY = frozenset({"team:us"}), frozenset({"team:pay"})


def test_urls_end_at_the_root() -> None:
    assert list(urls_at_and_above("file:///a/b")) == ["file:///a/b", "file:///a", "file:///"]
    assert list(urls_at_and_above("file:///")) == ["file:///"]


def test_the_nearest_folder_decides() -> None:
    remembered = FolderTags({"file:///a": US, "file:///a/b": PAY, "file:///a/c": frozenset()})
    assert remembered.find("file:///a/x.md") == US
    assert remembered.find("file:///a/b/x.md") == PAY
    assert remembered.find("file:///a/c/x.md") == frozenset()
    assert remembered.find("file:///ab/x.md") is None
    assert FolderTags({"file:///": US}).find("file:///a") == US


def test_what_a_change_changes() -> None:
    remembered = FolderTags({"file:///a": US, "file:///a/b": PAY, "file:///ab": PAY})
    assert remembered.changed_by("file:///a", US) == {"file:///a/b": PAY}
    assert remembered.changed_by("file:///a/x", PAY) == {"file:///a/x": US}
    assert remembered.changed_by("file:///new", PAY) == {}


def test_those_below_a_folder_are_not_its_own() -> None:
    remembered = FolderTags({"file:///a": US, "file:///a/b": PAY, "file:///ab": PAY})
    assert remembered.below("file:///a").by_url == {"file:///a/b": PAY}
    assert remembered.below("file:///").by_url == remembered.by_url
