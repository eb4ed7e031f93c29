"""What an entity may have beside its description: other names, a category, a difficulty, tags."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lightwell.text.regex import regex

_SEPARATOR = regex(r"[,;]")
CONCEPT_FIELDS = ("aliases", "category", "difficulty", "tags")


@dataclass(frozen=True, slots=True, kw_only=True)
class Concept:
    """The fields of a concept; `aliases` are names that documents or people say it has, `tags` free words."""

    aliases: tuple[str, ...] = ()
    category: str = ""
    difficulty: str = ""
    tags: tuple[str, ...] = ()

    @property
    def attributes(self) -> Mapping[str, str]:
        """The fields that are not empty, as text: the items of a list separated by commas."""
        texts = (", ".join(self.aliases), self.category, self.difficulty, ", ".join(self.tags))
        return {field: text for field, text in zip(CONCEPT_FIELDS, texts, strict=True) if text}


NO_CONCEPT = Concept()


def split_list(text: str) -> tuple[str, ...]:
    """Return the items of a list that is written with commas or semicolons, each once."""
    return distinct(_SEPARATOR.split(text))


def distinct(items: Iterable[str]) -> tuple[str, ...]:
    """Return the items with single spaces, without those that are empty or repeated."""
    return tuple(filter(None, dict.fromkeys(" ".join(item.split()) for item in items)))
