"""Who may see what: tags, access classes, readers."""

import hashlib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from lightwell.domain.errors import Forbidden, Invalid
from lightwell.domain.ids import ClassId, ProjectId
from lightwell.domain.texts import require_text
from lightwell.text.regex import regex

Tags = frozenset[str]
"""ACL tags such as `tenant:halden`, `team:sales`, `user:tg_123`. A document without tags is visible to nobody."""

_TAG = regex(r"[^\s,:]+(:[^\s,:]+)*")
_MAX_TAG_LENGTH = 200
_WORD = regex(r"[^\W\d_]+")
_INVISIBLE = frozenset(("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"))
_IGNORABLE = regex(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that no font draws, in addition to those of the invisible categories."""
_PHONETIC = regex("[\u0250-\u02af\u1d00-\u1dbf]")
"""Phonetic letters, many of which look like plain ones: `ɡ`, `ᴠ`."""
_SCRIPTS_LIKE_LATIN = frozenset(("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"))
_LATIN_LOOKALIKES = frozenset("асԁеһіјӏорԛѕԝхуАВСЕНІЈКМОРЅТХҮαινορτυχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")
"""Letters of other alphabets that look like Latin ones."""
_USER = "user:"


LISTED_CLASSES = 64
"""Up to so many classes are a list, which an index is searched by; more are bits, which a row is tested with."""


class ClassSet(tuple[ClassId, ...]):
    """Access classes, ascending, as what a query filters by: `sees(%(classes)s, class_id)`."""

    @property
    def is_listed(self) -> bool:
        """Whether a query gets them as a list and not as bits."""
        return len(self) <= LISTED_CLASSES

    @cached_property
    def bits(self) -> bytes:
        """A bit for each class up to the last, that of class 0 the lowest of the first byte: 1 for those in the set."""
        bits = bytearray(self[-1] // 8 + 1 if self else 0)
        for class_id in self:
            bits[class_id // 8] |= 1 << class_id % 8
        return bytes(bits)

    @cached_property
    def listed(self) -> str:
        """The text of an `integer[]`: rows of many classes that lie scattered are looked up class by class."""
        return f"{{{','.join(map(str, self))}}}"

    def __contains__(self, class_id: object) -> bool:
        if not isinstance(class_id, int) or not 0 <= class_id < 8 * len(self.bits):
            return False
        return bool(self.bits[class_id // 8] >> class_id % 8 & 1)


_NO_CLASSES = ClassSet()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Who asks: resolved once per request and passed to every read.

    `classes` are the ids, ascending, of the access classes that share a tag with the reader; a reader without
    tags has none. Every read filters by these classes inside its own query. `own_classes` are those of them of which the
    reader has all tags: what the reader corrects holds in these, since nobody writes for readers of other tags. `user` is the
    person who asks, or the key without a person, "" where only tags are known; conversations, sessions and feedback belong to
    that user.
    """

    project_id: ProjectId
    tags: Tags
    classes: ClassSet
    own_classes: ClassSet = _NO_CLASSES
    user: str = ""

    @property
    def parameters(self) -> dict[str, object]:
        """What a query about this reader filters by, as its parameters `project_id` and `classes`."""
        return {"project_id": self.project_id, "classes": self.classes}

    @property
    def cache_name(self) -> str:
        """A hash of who asks, for what is kept for this reader alone: what others asked shows in no cost."""
        asker = "\0".join((*sorted(self.tags), self.user))
        return hashlib.sha256(asker.encode()).hexdigest()

    @property
    def named_user(self) -> str:
        """The user whom a credential names; "" where at most the tags name one."""
        return "" if self.user == user_from_tags(self.tags) else self.user


def not_own() -> Invalid:
    """Return the error of a correction that would hold for readers of other tags only."""
    return Invalid(
        "People without your access tags read every document that says so, and nobody writes for them:"
        " somebody with all access tags of such a document can do this"
    )


def parse_tags(words: Iterable[str]) -> Tags:
    """Return the words as tags, trimmed.

    Raises `Invalid` for a tag with white space, commas or empty parts, and for one that could be mistaken for
    another tag.
    """
    if isinstance(words, str):
        raise Invalid(f"Access tags must be a list, such as [{words!r}]")
    tags = frozenset(word.strip() for word in words if word.strip())
    for tag in tags:
        require_text(tag, "The access tag")
        if len(tag) > _MAX_TAG_LENGTH or not _TAG.fullmatch(tag):
            raise Invalid(f"{tag!r} is not an access tag; write it like team:sales or user:ada")
        if reason := _lookalike(tag):
            raise Invalid(
                f"The access tag {tag!a} {reason}, so that two tags could look the same; type it again"
            )
    return tags


def _lookalike(tag: str) -> str:
    """Return why the tag could be mistaken for another one, "" if it could not."""
    if _IGNORABLE.search(tag) or any(unicodedata.category(sign) in _INVISIBLE for sign in tag):
        return "contains an invisible character"
    if _PHONETIC.search(tag):
        return "contains a phonetic letter that looks like another letter"
    if unicodedata.normalize("NFKC", tag) != tag:
        return "contains a variant form of a character"
    for word in _WORD.findall(tag):
        scripts = {unicodedata.name(sign, "").partition(" ")[0] for sign in word}
        if "LATIN" in scripts and scripts & _SCRIPTS_LIKE_LATIN:
            return "mixes letters of two alphabets in one word"
        if scripts <= _SCRIPTS_LIKE_LATIN and _LATIN_LOOKALIKES.issuperset(word):
            return "consists of letters that look like Latin ones"
    return ""


def user_from_tags(tags: Tags) -> str:
    """Return the user that the tags name, `tg_123` for `user:tg_123`; "" if they name none or several."""
    users = [tag.removeprefix(_USER) for tag in tags if tag.startswith(_USER)]
    return users[0] if len(users) == 1 else ""


def is_visible(record: Tags, request: Tags) -> bool:
    """Return whether a reader with the tags `request` sees a record with the tags `record`: they share at least one."""
    return not record.isdisjoint(request)


@dataclass(frozen=True, slots=True, kw_only=True)
class TagAuthority:
    """Which access tags someone may give to documents and take from them: their own, or any where `is_unlimited`.

    With `alone`, they change and delete only documents that nobody else sees: those with no other tags than these.
    """

    tags: Tags
    is_unlimited: bool = False
    alone: Tags | None = None

    def reads(self, tags: Tags) -> bool:
        """Return whether a document with these tags is visible to them."""
        return bool(tags) and (self.is_unlimited or not tags.isdisjoint(self.tags))

    def choose(self, tags: Tags) -> Tags:
        """Return the tags for new documents: those given, or the only one there is; raise `Invalid` where that is not clear."""
        if tags or len(self.tags) == 1:
            return tags or self.tags
        raise Invalid("Name the access tags of the document: whoever has one of them sees it")

    def require_new(self, tags: Tags) -> None:
        """Raise `Invalid` unless these may be the tags of a new document."""
        if not tags:
            raise Invalid(
                "Name at least one access tag: a document without tags is visible to nobody"
            )
        self._require_own(tags)

    def require_change(self, old: Tags, new: Tags) -> None:
        """Raise `Invalid` unless a document's tags may change like this.

        Others' tags stay as they are, and the document stays visible to whoever changes it.
        """
        if not new:
            raise Invalid(
                "Name at least one access tag; delete the document to hide it from everybody"
            )
        self._require_alone(old)
        self._require_own(old ^ new)
        if not self.is_unlimited and new.isdisjoint(self.tags):
            raise Invalid("Keep one of your own access tags, so that you still see the document")

    def require_all(self, tags: Tags) -> None:
        """Raise `Invalid` unless whoever reads a document with these tags shares one with whoever changes it."""
        self._require_alone(tags)
        if not self.is_unlimited and (others := sorted(tags - self.tags)):
            raise Invalid(
                "Others read this document, too: to replace or delete it you need all its access tags, and you lack"
                f" {', '.join(others)}"
            )

    def _require_alone(self, tags: Tags) -> None:
        if self.alone is not None and not tags <= self.alone:
            raise Forbidden(
                "Others see this document, too: you may delete and share what you alone see;"
                " for more, ask an administrator for the scopes delete and curate"
            )

    def _require_own(self, tags: Tags) -> None:
        if not self.is_unlimited and (others := sorted(tags - self.tags)):
            raise Invalid(
                f"You may give and take only access tags that you have, and not {', '.join(others)}"
            )
