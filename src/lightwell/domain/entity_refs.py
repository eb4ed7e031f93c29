"""References of entities: as they are stored, and as a reader sees them."""

from lightwell.domain.graph import normalize_name, slug

_TEXT_REF = "kg:entity:"


def text_ref(name: str) -> str:
    """Return the stored reference of an entity that a text names; its kind is not part of its identity."""
    return _TEXT_REF + slug(name)


def author_ref(author: str) -> str | None:
    """Return the reference of the entity that texts mean by an author's name, None for no name."""
    return text_ref(author) if normalize_name(author) else None


def shown_ref(stored: str, kind: str) -> str:
    """Return the reference a reader sees, with the kind as the reader's own documents have it."""
    return f"kg:{kind}:{stored.removeprefix(_TEXT_REF)}" if stored.startswith(_TEXT_REF) else stored


def stored_ref(shown: str) -> str:
    """Return the reference an entity is stored under, whatever kind the shown one names."""
    system, _, rest = shown.partition(":")
    return _TEXT_REF + rest.partition(":")[2] if system == "kg" else shown
