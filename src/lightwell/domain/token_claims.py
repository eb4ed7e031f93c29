"""What the claims of an issuer's token say: who it is, which project, which access tags."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from lightwell.domain.access import Tags, parse_tags
from lightwell.domain.directory import EMAIL, PersonName, parse_email, parse_external_ids
from lightwell.domain.errors import Invalid
from lightwell.domain.scopes import Scope
from lightwell.text.regex import regex

OIDC = "oidc"
"""The system whose external ids are the subjects of tokens: `oidc:<subject>`."""

_MAX_NAME_LENGTH = 200
_SEPARATORS = regex(r"[\s,]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimNames:
    """Which claims to read, and what a token allows. "" for `tags`: the directory alone has tags; for `project`: `home`."""

    person: str
    tags: str
    project: str
    home: str
    scopes: frozenset[Scope]

    def __post_init__(self) -> None:
        if self.scopes & {Scope.ADMIN, Scope.IMPERSONATE} or not self.scopes:
            raise Invalid(
                "Tokens of the OIDC issuer have scopes other than admin and impersonate (LIGHTWELL_OIDC_SCOPES)"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenIdentity:
    """Who a token speaks for. `tags` are those of the token; they count only for whom the directory does not know.

    `name` is what people call the person, "" where the token does not say it.
    """

    issuer: str
    subject: str
    project: str
    person: PersonName
    tags: Tags
    scopes: frozenset[Scope]
    name: str = ""

    @property
    def user(self) -> str:
        """Whose sessions and conversations these are, where the directory does not know the person."""
        return f"oidc {self.issuer} {self.subject}"


def read_claims(claims: Mapping[str, object], names: ClaimNames) -> TokenIdentity | None:
    """Return who a verified token speaks for; None where it lacks a claim that is needed.

    An e-mail address counts only if the issuer has verified it (`email_verified`).
    """
    subject, issuer = claims.get("sub"), claims.get("iss")
    person = _person(claims, names.person)
    project = _find(claims, names.project) if names.project else names.home
    if not isinstance(subject, str) or not subject or person is None:
        return None
    if not isinstance(project, str) or not isinstance(issuer, str):
        return None
    return TokenIdentity(
        issuer=issuer,
        subject=subject,
        project=project,
        person=person,
        tags=_tags(_find(claims, names.tags)) if names.tags else frozenset(),
        scopes=names.scopes,
        name=_name(claims),
    )


def identity_to_json(identity: TokenIdentity) -> dict[str, object]:
    """Return what a session keeps of who has signed in with an issuer."""
    return {
        "issuer": identity.issuer,
        "subject": identity.subject,
        "project": identity.project,
        "system": identity.person.system,
        "externalId": identity.person.external_id,
        "tags": sorted(identity.tags),
        "scopes": sorted(identity.scopes),
        "name": identity.name,
    }


def identity_from_json(stored: Mapping[str, Any]) -> TokenIdentity:
    """Return what `identity_to_json` made."""
    return TokenIdentity(
        issuer=stored["issuer"],
        subject=stored["subject"],
        project=stored["project"],
        person=PersonName(None, stored["system"], stored["externalId"]),
        tags=frozenset(stored["tags"]),
        scopes=frozenset(map(Scope, stored["scopes"])),
        name=stored["name"],
    )


def _name(claims: Mapping[str, object]) -> str:
    """Return the name that the claims say, trimmed and not too long; "" for none."""
    for claim in ("name", "preferred_username", EMAIL):
        value = claims.get(claim)
        if isinstance(value, str) and "\0" not in value and value.split():
            return " ".join(value.split())[:_MAX_NAME_LENGTH]
    return ""


def _person(claims: Mapping[str, object], name: str) -> PersonName | None:
    value = _find(claims, name)
    if (
        not isinstance(value, str)
        or not value
        or (name == EMAIL and claims.get("email_verified") is not True)
    ):
        return None
    try:
        if name == EMAIL:
            return PersonName(None, EMAIL, parse_email(value))
        return PersonName(None, OIDC, parse_external_ids({OIDC: value})[OIDC])
    except Invalid:
        return None


def _tags(value: object) -> Tags:
    """Return the access tags of a claim: a list, or a text with spaces or commas. What is no access tag is left out."""
    words = _SEPARATORS.split(value) if isinstance(value, str) else value
    tags: set[str] = set()
    for word in cast("list[object]", words) if isinstance(words, list) else []:
        try:
            tags |= parse_tags([word]) if isinstance(word, str) else set()
        except Invalid:
            continue
    return frozenset(tags)


def _find(claims: Mapping[str, object], name: str) -> object:
    """Return the claim of this name; `a.b` is also the claim `b` inside `a`."""
    if name in claims:
        return claims[name]
    inner: object = claims
    for part in name.split("."):
        inner = _as_object(inner).get(part)
    return inner


def _as_object(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
