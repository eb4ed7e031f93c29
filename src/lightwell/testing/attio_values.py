"""Attributes and values in the form in which Attio sends them."""

from collections.abc import Callable, Mapping
from typing import cast

Row = dict[str, object]

OBJECTS: Mapping[str, Mapping[str, str]] = {
    "companies": {
        "name": "text",
        "domains": "domain",
        "description": "text",
        "categories": "select",
        "primary_location": "location",
        "account_manager": "actor-reference",
        "last_interaction": "interaction",
    },
    "people": {
        "name": "personal-name",
        "email_addresses": "email-address",
        "phone_numbers": "phone-number",
        "job_title": "text",
        "company": "record-reference",
    },
    "deals": {
        "name": "text",
        "stage": "status",
        "owner": "actor-reference",
        "value": "currency",
        "close_date": "date",
        "associated_people": "record-reference",
        "associated_company": "record-reference",
    },
}
"""The attributes of the standard objects, `slug: type`."""

_TITLES = {"stage": "Deal stage", "value": "Deal value", "owner": "Deal owner"}


def make_attribute(ids: Mapping[str, str], slug: str, type_: str) -> Row:
    """Return the description of an attribute."""
    return {
        "id": dict(ids),
        "title": _TITLES.get(slug, slug.replace("_", " ").capitalize()),
        "description": None,
        "api_slug": slug,
        "type": type_,
        "is_system_attribute": type_ == "interaction",
        "is_writable": type_ != "interaction",
        "is_required": False,
        "is_unique": False,
        "is_multiselect": slug.endswith("s"),
        "is_default_value_enabled": False,
        "is_archived": False,
        "default_value": None,
        "relationship": None,
        "created_at": "2026-01-01T00:00:00.000000000Z",
        "config": {
            "currency": {"default_currency_code": "EUR", "display_type": "symbol"},
            "record_reference": {"allowed_object_ids": None},
        },
    }


def make_values(
    type_: str,
    value: object,
    moment: str,
    records: Mapping[str, Row],
    slug_of: Callable[[Row], str],
) -> list[Row]:
    """Return a plain value, or each of a list of such, as Attio's values that hold since `moment`."""
    plain = cast("list[object]", value) if isinstance(value, list) else [value]
    head: Row = {
        "active_from": moment,
        "active_until": None,
        "created_by_actor": {"type": "system", "id": None},
        "attribute_type": type_,
    }
    if type_ == "record-reference":
        return [
            {**head, "target_object": slug_of(records[str(value)]), "target_record_id": value}
            for value in plain
        ]
    return [{**head, **_fields(type_, value)} for value in plain if value is not None]


def _fields(type_: str, value: object) -> Row:
    make = _MAKERS.get(type_)
    return {"value": value} if make is None else make(str(value))


def _email(text: str) -> Row:
    local, _, domain = text.partition("@")
    return {
        "original_email_address": text,
        "email_address": text.lower(),
        "email_domain": domain,
        "email_root_domain": domain,
        "email_local_specifier": local,
    }


def _name(text: str) -> Row:
    first, _, last = text.partition(" ")
    return {"first_name": first, "last_name": last, "full_name": text}


def _option(type_: str, title: str) -> Row:
    zero = "00000000-0000-4000-8000-000000000000"
    ids = {"workspace_id": zero, "object_id": zero, "attribute_id": zero}
    option: Row = {"id": {**ids, f"{'option' if type_ == 'select' else 'status'}_id": zero}}
    option |= {"title": title, "is_archived": False}
    if type_ == "status":
        option |= {"celebration_enabled": False, "target_time_in_status": None}
    return option


def _location(city: str) -> Row:
    names = "line_1 line_2 line_3 line_4 region postcode latitude longitude".split()
    return {**dict.fromkeys(names), "locality": city, "country_code": "NO"}


_MAKERS: Mapping[str, Callable[[str], Row]] = {
    "domain": lambda text: {"domain": text, "root_domain": ".".join(text.split(".")[-2:])},
    "email-address": _email,
    "personal-name": _name,
    "phone-number": lambda text: {
        "original_phone_number": text,
        "country_code": "NO",
        "phone_number": text,
    },
    "actor-reference": lambda text: {
        "referenced_actor_type": "workspace-member",
        "referenced_actor_id": text,
    },
    "currency": lambda text: {"currency_value": float(text), "currency_code": "EUR"},
    "status": lambda text: {"status": _option("status", text)},
    "select": lambda text: {"option": _option("select", text)},
    "location": _location,
    "interaction": lambda text: {
        "interaction_type": "email",
        "interacted_at": text,
        "owner_actor": {"type": "system", "id": None},
    },
}
