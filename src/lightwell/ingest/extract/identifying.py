"""What a text plainly states about the bearer of a name: e-mail address, domain, owner, location.

Contradicting values keep entities of one name apart (docs/decisions/0008). So only forms that leave no doubt count: a
wrong value would divide one entity into two.
"""

import re
from collections.abc import Iterator, Mapping

from lightwell.domain.graph import normalize_name
from lightwell.ingest.extract.name_words import COARSE_PLACES
from lightwell.ingest.extract.names import Name
from lightwell.text.regex import regex

FIELDS = ("email", "domain", "owner", "location")
"""The attributes that tell bearers of one name apart."""

_HOST = r"(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}"
_ADDRESS = regex(rf"[\"”]? ?[<(](?:mailto:)?([\w.+-]{{1,64}})@({_HOST})[>)]")
_SITE = regex(
    rf"(?:\]\(|[,:]? ?[(<\[]?)(?:(https?)://)?(?:www\.)?({_HOST})(?![\w.@-]|\.\w)", re.IGNORECASE
)
_LOCAL_PARTS = regex(r"[._+-]|\d+")
_TOP_LEVELS = frozenset(
    "com org net edu gov io dev app ai co info biz eu uk de fr ch at nl es it se no dk fi pl cz jp cn kr au ca nz us".split()
)
_SECOND_LEVELS = frozenset("co com org net ac gov edu".split())
_MIN_LABEL = 4
"""Letters that a name and a domain share at least, so that one is known to be the other's."""

_PROPER = r"[A-Z][^\W_]+(?:[ -](?:[a-z]{2,3} )?[A-Z][^\W_]+){0,3}"
_LOCATION = regex(
    rf"(?:,? (?:which )?(?:is|are|was|were) (?:a |an )?|,? |\s?\()(?:based|headquartered|located) in (?:the )?({_PROPER})"
)
_OWNER = regex(
    rf"(?:,? (?:which )?(?:is|are) owned by (?:the )?|,? owned by (?:the )?| \((?:[Oo]wner:|owned by) )({_PROPER})"
)
_LABELLED = regex(
    rf"^(?:[-*•+] +)?(?:\*\*|__)?(Owner|Location)(?:\*\*|__)?:(?:\*\*|__)? +({_PROPER})(?:\*\*|__)?[.,;]?$",
    re.MULTILINE,
)


def identify(sentence: str, name: Name) -> Mapping[str, str]:
    """Return what the words directly after a name state about its bearer; values are in lower case."""
    end = name.start + len(name.text)
    if not name.is_main or not sentence.startswith(name.text, name.start):
        return {}
    return {field: value.lower() for field, value in _stated(sentence, end, name.text)}


def identify_by_labels(text: str) -> Mapping[str, str]:
    """Return what lines such as "Owner: Jane Smith" state about the document itself, for labels that occur once."""
    attributes: dict[str, set[str]] = {}
    for match in _LABELLED.finditer(text):
        attributes.setdefault(match[1].lower(), set()).add(match[2].lower())
    return {
        field: min(values)
        for field, values in attributes.items()
        if len(values) == 1 and not (field == "location" and values <= COARSE_PLACES)
    }


def _stated(sentence: str, end: int, name: str) -> Iterator[tuple[str, str]]:
    if (address := _ADDRESS.match(sentence, end)) and is_own_address(address[1], name):
        yield "email", f"{address[1]}@{address[2]}"
    elif address and _is_own_domain(address[2], name):
        yield "domain", _registered(address[2])
    site = _SITE.match(sentence, end)
    # Without a scheme or a well-known top-level domain it may be the name of a file.
    is_host = site and (site[1] or site[2].rpartition(".")[2].lower() in _TOP_LEVELS)
    if site and is_host and _is_own_domain(site[2], name):
        yield "domain", _registered(site[2])
    if (place := _LOCATION.match(sentence, end)) and place[1].lower() not in COARSE_PLACES:
        yield "location", place[1]
    if owner := _OWNER.match(sentence, end):
        yield "owner", owner[1]


def is_coarse_place(name: str) -> bool:
    """Return whether a name is that of a country or a state."""
    return name.casefold() in COARSE_PLACES


def is_own_address(local: str, name: str) -> bool:
    """Return whether an address contains the first and the last word of a name."""
    words = normalize_name(name).split()
    return {words[0], words[-1]} <= set(_LOCAL_PARTS.split(local.casefold()))


def is_domain_of(host: str, name: str) -> bool:
    """Return whether a domain is the name, or the first of its two words: nordwind.example of "Nordwind Energie"."""
    label = _registered(host).partition(".")[0].replace("-", "")
    first, *others = name.split()
    is_pair = len(others) == 1 and not others[0].isupper()
    return label == "".join(name.casefold().split()) or (is_pair and label == first.casefold())


def _is_own_domain(host: str, name: str) -> bool:
    """Return whether a domain and a name begin alike: "Nordwind Energie" and nordwind.example."""
    label = _registered(host).partition(".")[0].replace("-", "")
    compact = "".join(sign for sign in name.casefold() if sign.isalnum())
    first = normalize_name(name).partition(" ")[0]
    if label == compact:
        return True
    shared = min(len(label), len(first))
    return shared >= _MIN_LABEL and (compact.startswith(label) or label.startswith(first))


def _registered(host: str) -> str:
    """Return the part of a host name that somebody has registered: `docs.a.co.uk` becomes `a.co.uk`."""
    labels = host.lower().split(".")
    is_nested = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVELS
    return ".".join(labels[-3 if is_nested else -2 :])
