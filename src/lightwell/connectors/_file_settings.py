"""What front matter and `.lightwell.yaml` say of a file: the nearest word wins."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import cast

from lightwell.domain.access import Tags, tags_of
from lightwell.domain.documents import FileSettings
from lightwell.domain.errors import Invalid

_KEYS = ("acl_tags", "title", "topic", "topic_tag", "author", "metadata")
_FOLDER_KEYS = (*_KEYS, "files", "ignore")
_FOREIGN = frozenset(
    """aliases categories category class created cssclass cssclasses date description draft excerpt id image
    keywords lang language lastmod last_modified layout license modified parent permalink published
    publishdate series sidebar_label sidebar_position slug status subtitle summary tags template toc type
    updated url version weight""".split()
)
"""What other tools keep in front matter; kept as metadata where it is a plain word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one place says; None where it is silent."""

    acl_tags: Tags | None = None
    title: str | None = None
    topic: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSettings:
    """What a folder's `.lightwell.yaml` says of the files in and below the folder."""

    all: Said
    files: Sequence[tuple[str, Said]]
    ignore: Sequence[str]

    def ignores(self, path: str) -> bool:
        """Return whether the file or folder at this path, from here, is to be passed over."""
        return any(_matches(pattern, path) for pattern in self.ignore)

    def about(self, path: str) -> list[Said]:
        """Return what is said of the file at this path, from here, the nearest word last."""
        return [self.all, *(said for pattern, said in self.files if _matches(pattern, path))]


def of_folder(yaml: Mapping[str, object]) -> FolderSettings:
    """Return a folder's settings; raise `Invalid` naming the key that is wrong."""
    _refuse_unknown(yaml, _FOLDER_KEYS)
    files = _mapping(yaml.get("files"), "files")
    return FolderSettings(
        all=_said(yaml),
        files=[(pattern, _of_pattern(pattern, said)) for pattern, said in files.items()],
        ignore=_words(yaml.get("ignore") or [], "ignore"),
    )


def of_front_matter(yaml: Mapping[str, object]) -> Said:
    """Return what the top of a file says; raise `Invalid` for a key nobody knows."""
    _refuse_unknown(yaml, (*_KEYS, *_FOREIGN))
    foreign = {key: str(yaml[key]) for key in yaml if key in _FOREIGN and _is_plain(yaml[key])}
    said = _said(yaml)
    return Said(
        acl_tags=said.acl_tags,
        title=said.title,
        topic=said.topic,
        metadata={**foreign, **said.metadata},
    )


def settled(default: Tags, said: Iterable[Said]) -> FileSettings:
    """Return what holds in the end; what comes later is nearer, and metadata adds up key by key."""
    tags, title, topic = default, "", ""
    metadata: dict[str, str] = {}
    for each in said:
        tags = tags if each.acl_tags is None else each.acl_tags
        title = title if each.title is None else each.title
        topic = topic if each.topic is None else each.topic
        metadata |= each.metadata
    return FileSettings(acl_tags=tags, title=title, topic=topic, metadata=metadata)


def _of_pattern(pattern: str, said: object) -> Said:
    keys = _mapping(said, f"files: {pattern}")
    _refuse_unknown(keys, _KEYS)
    return _said(keys)


def _said(yaml: Mapping[str, object]) -> Said:
    if "topic" in yaml and "topic_tag" in yaml:
        raise Invalid("`topic` and `topic_tag` are the same; keep one")
    metadata = {
        key: _word(value, f"metadata: {key}") or ""
        for key, value in _mapping(yaml.get("metadata"), "metadata").items()
    }
    author = _word(yaml.get("author"), "author")
    return Said(
        acl_tags=tags_of(_words(yaml["acl_tags"] or [], "acl_tags"))
        if "acl_tags" in yaml
        else None,
        title=_word(yaml.get("title"), "title"),
        topic=_word(yaml.get("topic", yaml.get("topic_tag")), "topic"),
        metadata=metadata if author is None else {**metadata, "author": author},
    )


def _refuse_unknown(yaml: Mapping[str, object], known: Sequence[str]) -> None:
    for key in yaml:
        if key not in known:
            names = ", ".join(_FOLDER_KEYS if "files" in known else _KEYS)
            raise Invalid(f"nobody knows the key {key!r}; known are {names}")


def _mapping(value: object, key: str) -> Mapping[str, object]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Invalid(f"{key!r} must hold `key: value` lines")
    return {str(name): inner for name, inner in cast("dict[object, object]", value).items()}


def _words(value: object, key: str) -> list[str]:
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list) or not all(
        isinstance(word, str) for word in cast("list[object]", words)
    ):
        raise Invalid(f"{key!r} must be a list of words; quote what looks like a number")
    return cast("list[str]", words)


def _word(value: object, key: str) -> str | None:
    if value is None:
        return None
    if not _is_plain(value):
        raise Invalid(f"{key!r} must be one word or line; quote it")
    return " ".join(str(value).split())


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | date) and not isinstance(value, bool)


def _matches(pattern: str, path: str) -> bool:
    """Return whether a path, or a folder above it, fits; without a slash the pattern holds at any depth."""
    parts = path.split("/")
    fits = _pattern(pattern)
    return any(fits.fullmatch("/".join(parts[:depth])) for depth in range(1, len(parts) + 1))


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    bare = pattern.strip("/")
    prefix = "" if "/" in pattern.rstrip("/") else "(?:.*/)?"
    return re.compile(prefix + "".join(map(_part, _GLOB.findall(bare))), re.S)


_GLOB = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")


def _part(sign: str) -> str:
    match sign:
        case "**/":
            return "(?:.*/)?"
        case "**":
            return ".*"
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
        case _:
            return re.escape(sign)
