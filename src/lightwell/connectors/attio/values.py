"""Values of Attio's attributes as text that people read."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from lightwell.connectors.attio.models import Attribute, Value, parse_time

_MAX_SHOWN = 25
_NEVER = frozenset(
    """record_id entry_id created_at created_by logo_url avatar_url twitter_follower_count
    strongest_connection_strength strongest_connection_strength_legacy strongest_connection_user
    associated_workspaces associated_users team parent_record parent_object""".split()
)
"""Slugs that Attio itself keeps changing, or that repeat the other end of a relationship."""

NameOf = Callable[[Value], str]
"""From a reference to a record or an actor to its name, "" where it is not known."""


def is_mapped(attribute: Attribute) -> bool:
    """Return whether an attribute is read: what Attio computes, such as interactions and formulas, is not."""
    if attribute.is_archived or attribute.type == "interaction" or attribute.api_slug in _NEVER:
        return False
    if attribute.is_system_attribute:
        return not attribute.api_slug.endswith("_interaction")
    return attribute.is_writable


def current(values: Iterable[Value]) -> list[Value]:
    """Return the values that hold now: Attio may send former ones, too."""
    return [value for value in values if value.active_until is None]


def attribute_fields(
    attributes: Iterable[Attribute], values: Mapping[str, Sequence[Value]], name_of: NameOf
) -> list[tuple[str, str]]:
    """Return label and text of each mapped attribute that has a value, in the order of the attributes."""
    fields: list[tuple[str, str]] = []
    for attribute in attributes:
        texts = [
            text
            for value in current(values.get(attribute.api_slug, ()))
            if (text := value_text(value, name_of))
        ]
        if texts:
            more = f" and {len(texts) - _MAX_SHOWN} more" if len(texts) > _MAX_SHOWN else ""
            fields.append((attribute.title, ", ".join(texts[:_MAX_SHOWN]) + more))
    return fields


def value_text(value: Value, name_of: NameOf) -> str:
    """Return one value as text, "" for an empty one."""
    if value.attribute_type in ("record-reference", "actor-reference"):
        return name_of(value)
    return _TEXTS.get(value.attribute_type, _plain)(value)


def time_text(time: datetime | None) -> str:
    """Return a point in time to the minute, in UTC."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if time else ""


def date_text(text: str | None) -> str:
    """Return the day of a point in time of Attio's."""
    time = parse_time(text)
    return f"{time:%Y-%m-%d}" if time else ""


def last_change(created_at: str, values: Iterable[Value]) -> datetime | None:
    """Return when the youngest of the values became true, or the record was created; Attio keeps no date of change."""
    times = [parse_time(value.active_from) for value in values] + [parse_time(created_at)]
    return max((time for time in times if time), default=None)


def _plain(value: Value) -> str:
    for text in (value.email_address, value.domain, value.phone_number):
        if text:
            return text
    if value.value is None:
        return ""
    return _number(value.value) if isinstance(value.value, float) else str(value.value)


def _currency(value: Value) -> str:
    if value.currency_value is None:
        return ""
    return f"{_number(value.currency_value)} {value.currency_code or ''}".strip()


def _number(number: float) -> str:
    """Return a number without decimals that say nothing: `48000`, `12.5`."""
    return str(int(number)) if number.is_integer() else f"{number:.10g}"


def _location(value: Value) -> str:
    city = f"{value.postcode or ''} {value.locality or ''}".strip()
    parts = (value.line_1, value.line_2, city, value.region, value.country_code)
    return ", ".join(part for part in parts if part)


_TEXTS: Mapping[str, Callable[[Value], str]] = {
    "currency": _currency,
    "location": _location,
    "status": lambda value: value.status.title if value.status else "",
    "select": lambda value: value.option.title if value.option else "",
    "checkbox": lambda value: "" if value.value is None else "yes" if value.value else "no",
    "timestamp": lambda value: time_text(parse_time(str(value.value or ""))),
    "personal-name": lambda value: value.full_name or "",
    "rating": lambda value: "" if value.value is None else f"{value.value} of 5",
}
