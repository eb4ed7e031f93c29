"""Several people of one name, told apart by the e-mail addresses that stand with it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lightwell.answer.brief.cues import entity_names
from lightwell.answer.brief.selection import CandidateSentence
from lightwell.domain.briefs import EntityPassage
from lightwell.domain.ids import ChunkId, DocumentId
from lightwell.text.terms import words

_ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]*\w@(?:[\w-]+\.)+[^\W\d_]{2,}")
_SPELT_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "o", "å": "aa"})

_Whose = set[frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Namesake:
    """One of several people of a name, with the sentences about them; `addresses` is empty where no address says who it is."""

    addresses: tuple[str, ...]
    sentences: tuple[CandidateSentence, ...]

    @property
    def address(self) -> str:
        """The first of the addresses, "" for none."""
        return min(self.addresses, default="")


def parse_name_with_address(name: str) -> tuple[str, str | None]:
    """Return the name and the address of `Jonas Weber <jonas@halden.example>`, None where it has no brackets."""
    asked, bracket, address = name.strip().removesuffix(">").rpartition("<")
    is_picked = bracket and asked.strip() and name.rstrip().endswith(">")
    if not is_picked or ">" in address or len(address.split()) > 1 or address != address.strip():
        return name, None
    return asked.rstrip(), address.casefold()


def address_matches_name(address: str, name: str) -> bool:
    """Return whether the address is made of a name: `jonas.weber@`, `weber_jonas@` or `jweber@` for Jonas Weber."""
    local = [
        part.rstrip("0123456789") for part in words(address.partition("@")[0].replace("_", "."))
    ]
    return any(_spells_name(local, own) for own in ascii_spellings(name))


def likely_address_prefixes(name: str) -> list[str]:
    """Return what the address of somebody with this name begins with most often; none for a single word."""
    return [
        begin
        for own in ascii_spellings(name)
        if len(own) > 1
        for begin in (f"{own[0]}.{own[-1]}", f"{own[0]}_{own[-1]}", f"{own[0][0]}{own[-1]}")
    ]


def ascii_spellings(name: str) -> list[list[str]]:
    """Return the words of a name as addresses spell them: `Müller` as `muller` and as `mueller`."""
    return [words(name), words(name.casefold().translate(_SPELT_OUT))]


def split_by_address(
    names: Sequence[str], passages: Sequence[EntityPassage], sentences: Sequence[CandidateSentence]
) -> list[Namesake]:
    """Return the people of a name, told apart by their addresses; last the sentences that cannot be assigned to one of them.

    A sentence belongs to the address that stands in it or in its lead-in, else to the only one in its passage, else to the
    only one in its document. Addresses that one sentence gives beside one mention of the name belong to one person.
    """
    own = _own_addresses(names, sentences)
    in_chunk: dict[ChunkId, _Whose] = {}
    in_document: dict[DocumentId, _Whose] = {}
    for each in passages:
        those = _addresses_in(each.chunk.text, names, own)
        in_chunk[each.chunk.id] = those
        in_document.setdefault(each.chunk.document_id, set()).update(those)
    found: dict[frozenset[str], list[CandidateSentence]] = {}
    for each in sentences:
        chunk, text = each.quote.evidence.chunk, each.quote.text
        near = (
            _addresses_in(text, names, own),
            _addresses_in(each.quote.context, names, own),
            in_chunk[chunk.id],
            in_document[chunk.document_id],
        )
        whose = next((those for those in near if those), set[frozenset[str]]())
        found.setdefault(next(iter(whose)) if len(whose) == 1 else frozenset(), []).append(each)
    people = [
        Namesake(addresses=tuple(sorted(addresses)), sentences=tuple(own))
        for addresses, own in found.items()
    ]
    return sorted(people, key=lambda each: (not each.addresses, each.addresses))


def _own_addresses(
    names: Sequence[str], sentences: Iterable[CandidateSentence]
) -> dict[str, frozenset[str]]:
    """Return, for each address that a sentence gives together with others beside one mention of the name, all of them."""
    own: dict[str, frozenset[str]] = {}
    mentions = entity_names(names)
    for each in sentences:
        given = _addresses(each.quote.text, names)
        if len(given) > 1 and mentions.count_in(_ADDRESS.sub(" ", each.quote.text)) == 1:
            whole = frozenset(given).union(*(own.get(address, frozenset()) for address in given))
            own.update({address: whole for address in whole})
    return own


def _addresses_in(text: str, names: Sequence[str], own: Mapping[str, frozenset[str]]) -> _Whose:
    return {own.get(each, frozenset((each,))) for each in _addresses(text, names)}


def _addresses(text: str, names: Sequence[str]) -> set[str]:
    found = {match[0].casefold() for match in _ADDRESS.finditer(text)}
    return {each for each in found if any(address_matches_name(each, name) for name in names)}


def _spells_name(local: Sequence[str], own: Sequence[str]) -> bool:
    if len(own) < 2:
        return False
    first, last = own[0], own[-1]
    whole = "".join(local)
    return {first, last} <= {*local} or whole in (
        first + last,
        last + first,
        first[0] + last,
        last + first[0],
    )
