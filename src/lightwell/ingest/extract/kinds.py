"""What kind of thing a passage's words tell a name to be: a person, an organisation, a place, a product.

Each sign is a form of words around the name, such as "Dear Jane," or "Grafana dashboards". A name without a sign keeps its kind.
"""

from collections.abc import Iterator, Mapping

from lightwell.domain.graph import normalize_name
from lightwell.ingest.extract.commonness import Commonness, commonness
from lightwell.ingest.extract.identifying import is_coarse_place, is_domain_of, is_own_address
from lightwell.text.regex import regex

PERSON, ORGANIZATION, PLACE, PRODUCT = "person", "organization", "place", "product"

_WORD = r"(?:[^\W\d_a-z][^\W\d_]{1,30}(?:[-'’][^\W\d_]{1,30}){0,2}|[^\W\d_a-z]\.)"
_NAME = rf"\b({_WORD}(?: (?:(?:de|van|von|der|di|da|la) )?{_WORD}){{0,2}})"
_FULL_NAME = rf"\b({_WORD}(?: (?:(?:de|van|von|der|di|da|la) )?{_WORD}){{1,2}})"
_ROLE = (
    r"(?:manager|engineer|director|head|lead|leader|officer|founder|co-founder|assistant|developer|designer|analyst"
    r"|accountant|consultant|technician|recruiter|architect|scientist|researcher|professor|teacher|nurse|doctor|lawyer"
    r"|president|chair|chairman|chairwoman|secretary|minister|CEO|CTO|CFO|COO)"
)
_OF_PERSON = regex(
    rf"\b(?:Hi|Hello|Hey|Dear|Hallo|Liebe|Lieber|Bonjour|Herr|Frau|Madame|Monsieur) {_NAME}"
    rf"|\b(?:From|Owner|Author|Contact|Lead|Manager|Maintainer|Assignee|Reporter|Interviewer|Written by|Attendees):\W{{1,4}}{_FULL_NAME}"
    rf"|(?i:regards|wishes|thanks|cheers|sincerely|grüßen|grüße|gruß|cordialement),?\s{{1,4}}(?:[-–—] ?)?{_NAME}\s*(?:$|\n|,)"
    rf"|{_NAME},? (?:who|said|says|wrote|writes|asked|asks|told|thinks|joined|explained|suggested|noted|answered"
    rf"|replied|sagt|sagte|schrieb|schreibt|fragt|meint|grew up|was born|lives|lived)\b"
    rf"|{_FULL_NAME},? (?:\(|(?:is |was )?(?:the |our |a |an |his |her |their )?)(?:[a-z]{{1,20}} ){{0,2}}{_ROLE}\b"
    rf"|\b{_ROLE} {_FULL_NAME}"
)
_OF_PLACE = regex(
    rf"\b(?:based|located|headquartered|lives|lived|living|born|office|offices|warehouse|factory|plant|city|town|village)"
    rf" (?:in|of|at|near) (?:the )?{_NAME}|\bthe {_NAME} offices?\b"
)
_OF_PRODUCT = regex(
    r"\b([A-Z][\w.]{0,30}(?: [A-Z][\w.]{0,30}){0,2}) (?:v?\d{1,4}\.\d"
    r"|(?:apps?|applications?|software|tools?|databases?|libraries|library|plugins?|servers?|clients?|platforms?|clusters?"
    r"|dashboards?|channels?|repositor(?:y|ies)|repos?|packages?|API|CLI|SDK|modules?|extensions?|integrations?|gems?)\b)"
    r"|\b(?:[Ii]nstall(?:ing|ed|s)?|[Uu]pgrad(?:e|ing)|brew install) ([A-Z][\w.]{0,30}(?: [A-Z][\w.]{0,30}){0,2})"
)
_EMAIL = regex(r"([\w.+-]{1,64})@((?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24})")


def tell_kinds(prose: str) -> Mapping[str, str]:
    """Return the kinds that a passage's words tell, by normalised name; of several the first of person, place, product."""
    kinds: dict[str, str] = {}
    for pattern, kind in ((_OF_PERSON, PERSON), (_OF_PLACE, PLACE), (_OF_PRODUCT, PRODUCT)):
        for match in pattern.finditer(prose):
            name = normalize_name(next(group for group in match.groups() if group))
            if any(commonness(word) <= Commonness.NAME_LIKE for word in name.split()):
                kinds.setdefault(name, kind)
    return kinds


def kind_by_addresses(name: str, addresses: Mapping[str, str]) -> str:
    """Return the kind that e-mail addresses of the passage, local part to host, tell of a name, or ""."""
    if any(is_own_address(local, name) for local in addresses):
        return PERSON if " " in name else ""
    is_own = any(is_domain_of(host, name) for host in addresses.values())
    return ORGANIZATION if is_own else ""


def find_addresses(prose: str) -> Mapping[str, str]:
    """Return the e-mail addresses of a passage, local part to host, in lower case."""
    if "@" not in prose:
        return {}
    return {match[1].lower(): match[2].lower() for match in _EMAIL.finditer(prose)}


def kind_by_name(name: str) -> str:
    """Return the kind that a name tells by itself, or ""."""
    return PLACE if is_coarse_place(name) else ""


def first_names(persons: Iterator[str]) -> frozenset[str]:
    """Return the first words of full names, normalised."""
    return frozenset(name.partition(" ")[0] for name in persons if " " in name)


def full_names(kinds: Mapping[str, str]) -> list[str]:
    """Return the names of persons that have two words or more, normalised: words around one make it certain."""
    return [name for name, kind in kinds.items() if kind == PERSON and " " in name]
