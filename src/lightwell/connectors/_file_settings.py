"""The settings of a file from `.lightwell.yaml` files and front matter; the nearest setting wins."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from typing import cast
from urllib.parse import quote, urlsplit

from lightwell.connectors._path_patterns import Segment, split_pattern, starts_with
from lightwell.domain.access import Tags, parse_tags
from lightwell.domain.documents import FRONT_MATTER, FileSettings
from lightwell.domain.errors import Invalid
from lightwell.text.regex import regex

_KEYS = ("acl_tags", "title", "topic", "topic_tag", "author", "metadata")
_FOLDER_KEYS = (*_KEYS, "base_url", "files", "ignore")
_MAX_PATTERN_CHARACTERS = 1000
_MAX_ADDRESS = 1000
MAX_TAGS = 100
"""Access tags per document; more than that is better expressed as a group."""

_NO_LETTERS = regex(r"[\W_]+")
_ACCESS_KEY = "acltags"
_ACCESS_WORDS = frozenset("acl acls accesstag accesstags accesslist accesscontrol".split())
_MAX_TYPOS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettingsLayer:
    """The settings from one place; None for a key that is absent. `origin` names the file they come from."""

    origin: str = ""
    acl_tags: Tags | None = None
    title: str | None = None
    topic: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSettings:
    """The settings in a folder's `.lightwell.yaml`, for all files in and below the folder.

    `base_url` is the folder's address for browsers, "" where none is said.
    """

    default_layer: FileSettingsLayer
    pattern_layers: Sequence[tuple[str, FileSettingsLayer]]
    ignore_patterns: Sequence[str]
    keep_patterns: Sequence[str] = ()
    base_url: str = ""

    def ignores(self, path: str) -> bool:
        """Return whether to skip the file or folder at this path, relative to the settings' folder."""
        return any(_matches(pattern, path) for pattern in self.ignore_patterns)

    def keeps(self, path: str) -> bool:
        """Return whether to read what a .gitignore or Lightwell itself leaves out at this path: an `ignore` with `!` says so."""
        return any(_matches(pattern, path) for pattern in self.keep_patterns)

    def address_of(self, path: str) -> str:
        """Return the address of the file at this path, relative to the settings' folder; "" where none is said."""
        return f"{self.base_url}/{quote(path)}" if self.base_url else ""

    def layers_for(self, path: str) -> list[FileSettingsLayer]:
        """Return the layers for the file at this relative path, the most specific one last."""
        return [
            self.default_layer,
            *(layer for pattern, layer in self.pattern_layers if _matches(pattern, path)),
        ]


NO_SETTINGS = FolderSettings(
    default_layer=FileSettingsLayer(), pattern_layers=(), ignore_patterns=()
)


def parse_folder_settings(yaml: Mapping[str, object], origin: str) -> FolderSettings:
    """Return a folder's settings, read from the file `origin`; raise `Invalid` naming the key that is wrong."""
    _reject_unknown_keys(yaml, _FOLDER_KEYS)
    files = _mapping(yaml.get("files"), "files")
    ignored = [
        _require_short_pattern(pattern)
        for pattern in _word_list(yaml.get("ignore") or [], "ignore")
    ]
    return FolderSettings(
        default_layer=_parse_layer(yaml, origin),
        pattern_layers=[
            (_require_short_pattern(pattern), _parse_pattern_layer(pattern, settings, origin))
            for pattern, settings in files.items()
        ],
        ignore_patterns=[pattern for pattern in ignored if not pattern.startswith("!")],
        keep_patterns=[pattern[1:] for pattern in ignored if pattern.startswith("!")],
        base_url=_base_url(yaml.get("base_url")),
    )


def parse_front_matter(yaml: Mapping[str, object]) -> FileSettingsLayer:
    """Return the settings in a file's front matter; unknown keys become metadata.

    Raise `Invalid` for a key that looks like a misspelt `acl_tags`, because ignoring it would show the file to others.
    """
    for key in yaml:
        if key != "acl_tags" and _resembles_access_key(key):
            raise Invalid(f"{key!r} looks like a misspelt acl_tags; write acl_tags, or rename it")
    author = yaml.get("author")
    authors = {} if author is None else {"author": _author_text(author)}
    layer = _parse_layer({**yaml, **authors}, FRONT_MATTER)
    other_keys = {key: _metadata_text(value) for key, value in yaml.items() if key not in _KEYS}
    return replace(layer, metadata={**other_keys, **layer.metadata})


def resolve_settings(default: Tags, layers: Iterable[FileSettingsLayer]) -> FileSettings:
    """Return the effective settings: later layers override earlier ones, and metadata is merged key by key."""
    tags, origin, title, topic = default, "", "", ""
    metadata: dict[str, str] = {}
    for layer in layers:
        if layer.acl_tags is not None:
            tags, origin = layer.acl_tags, layer.origin
        title = title if layer.title is None else layer.title
        topic = topic if layer.topic is None else layer.topic
        metadata |= layer.metadata
    return FileSettings(
        acl_tags=tags, title=title, topic=topic, acl_origin=origin, metadata=metadata
    )


def _parse_pattern_layer(pattern: str, settings: object, origin: str) -> FileSettingsLayer:
    keys = _mapping(settings, f"files: {pattern}")
    _reject_unknown_keys(keys, _KEYS)
    return _parse_layer(keys, origin)


def _base_url(value: object) -> str:
    address = (_scalar(value, "base_url") or "").rstrip("/")
    parts = urlsplit(address)
    is_plain = parts.scheme in ("http", "https") and parts.hostname and not parts.username
    if address and (not is_plain or parts.query or parts.fragment or len(address) > _MAX_ADDRESS):
        raise Invalid(
            "'base_url' is the address of this folder in a browser, such as https://files.example.com/contracts"
        )
    return address


def _parse_layer(yaml: Mapping[str, object], origin: str) -> FileSettingsLayer:
    if "topic" in yaml and "topic_tag" in yaml:
        raise Invalid("`topic` and `topic_tag` are the same; keep one")
    metadata = {
        key: _scalar(value, f"metadata: {key}") or ""
        for key, value in _mapping(yaml.get("metadata"), "metadata").items()
    }
    author = _scalar(yaml.get("author"), "author")
    return FileSettingsLayer(
        origin=origin,
        acl_tags=_tags(yaml["acl_tags"]) if "acl_tags" in yaml else None,
        title=_scalar(yaml.get("title"), "title"),
        topic=_scalar(yaml.get("topic", yaml.get("topic_tag")), "topic"),
        metadata=metadata if author is None else {**metadata, "author": author},
    )


def _reject_unknown_keys(yaml: Mapping[str, object], known_keys: Sequence[str]) -> None:
    for key in yaml:
        if key not in known_keys:
            names = ", ".join(_FOLDER_KEYS if "files" in known_keys else _KEYS)
            raise Invalid(f"unknown key {key!r}; the known keys are {names}")


def _tags(value: object) -> Tags:
    tags = parse_tags(_word_list(value or [], "acl_tags"))
    if len(tags) > MAX_TAGS:
        raise Invalid(
            f"'acl_tags' lists {len(tags):,} tags; name at most {MAX_TAGS}, or a tag for all of them"
        )
    return tags


def _resembles_access_key(key: str) -> bool:
    """Return whether a key is `acl_tags` in another spelling, or with up to two typing errors."""
    bare = _NO_LETTERS.sub("", key.casefold())[: len(_ACCESS_KEY) + _MAX_TYPOS + 1]
    return bare in _ACCESS_WORDS or _edit_distance(bare, _ACCESS_KEY) <= _MAX_TYPOS


def _edit_distance(word: str, other: str) -> int:
    """Return the number of letters to insert, delete or replace."""
    row = list(range(len(other) + 1))
    for position, sign in enumerate(word, start=1):
        before, row[0] = row[0], position
        for to, letter in enumerate(other, start=1):
            before, row[to] = (
                row[to],
                min(row[to] + 1, row[to - 1] + 1, before + (sign != letter)),
            )
    return row[-1]


def _author_text(value: object) -> str:
    """Return the authors in one line: site generators have lists of them, and records with a name."""
    people = cast("list[object]", value) if isinstance(value, list) else [value]
    names = (
        cast("dict[str, object]", person).get("name") if isinstance(person, dict) else person
        for person in people
    )
    return ", ".join(filter(None, map(_metadata_text, names)))


def _metadata_text(value: object) -> str:
    """Return the value of an unknown key on one line: lists separated by commas, nested values as JSON."""
    if value is None:
        return ""
    if _is_plain(value):
        return " ".join(str(value).split())
    words = cast("list[object]", value) if isinstance(value, list) else []
    if words and all(map(_is_plain, words)):
        return ", ".join(_metadata_text(word) for word in words)
    return json.dumps(value, ensure_ascii=False, default=str)


def _mapping(value: object, key: str) -> Mapping[str, object]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Invalid(f"{key!r} must hold `key: value` lines")
    return {str(name): inner for name, inner in cast("dict[object, object]", value).items()}


def _word_list(value: object, key: str) -> list[str]:
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list) or not all(
        isinstance(word, str) for word in cast("list[object]", words)
    ):
        raise Invalid(f"{key!r} must be a list of words; quote what looks like a number")
    return cast("list[str]", words)


def _scalar(value: object, key: str) -> str | None:
    if value is None:
        return None
    if not _is_plain(value):
        raise Invalid(f"{key!r} must be one word or line; quote it")
    return " ".join(str(value).split())


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | date) and not isinstance(value, bool)


def _require_short_pattern(pattern: str) -> str:
    if len(pattern) > _MAX_PATTERN_CHARACTERS:
        raise Invalid(f"a pattern has at most {_MAX_PATTERN_CHARACTERS:,} characters; shorten it")
    return pattern


def _matches(pattern: str, path: str) -> bool:
    """Return whether a path or a folder above it matches; a pattern without slash applies at any depth."""
    return starts_with(_segments(pattern), path)


@cache
def _segments(pattern: str) -> Sequence[Segment]:
    return split_pattern(pattern, is_anchored="/" in pattern.rstrip("/"), parse=_pieces)


def _pieces(glob: str) -> list[str]:
    """Return the stretches between the stars of one part of a path as regular expressions: `?` is any character."""
    return [
        "".join("." if sign == "?" else re.escape(sign) for sign in piece)
        for piece in re.split(r"\*+", glob)
    ]
