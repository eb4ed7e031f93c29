"""References of entities: the stored form, and the form that a reader sees."""

from lightwell.domain.graph import normalize_name, slug

_TEXT_REF = "kg:entity:"


def text_ref(name: str) -> str:
    """Return the stored reference of an entity that a text names. Its kind is not part of its identity."""
    return _TEXT_REF + slug(name)


def author_ref(author: str) -> str | None:
    """Return the reference of the entity with an author's name, None for an empty name."""
    return text_ref(author) if normalize_name(author) else None


def display_ref(stored: str, kind: str) -> str:
    """Return the reference that a reader sees; it contains the kind that the reader's own documents give."""
    return f"kg:{kind}:{stored.removeprefix(_TEXT_REF)}" if stored.startswith(_TEXT_REF) else stored


def stored_ref(shown: str) -> str:
    """Return the stored reference, whatever kind the displayed one contains."""
    system, _, rest = shown.partition(":")
    return _TEXT_REF + rest.partition(":")[2] if system == "kg" else shown
