"""Several people of one name, told apart by the e-mail addresses that stand with it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lightwell.answer.brief.cues import entity_names
from lightwell.answer.brief.selection import CandidateSentence
from lightwell.domain.briefs import EntityPassage
from lightwell.domain.ids import ChunkId, DocumentId
from lightwell.text.regex import regex
from lightwell.text.terms import words

_ADDRESS = regex(r"(?<![\w.+-])[\w.+-]*\w@(?:[\w-]+\.)+[^\W\d_]{2,}")
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
    bare_name, bracket, address = name.strip().removesuffix(">").rpartition("<")
    is_picked = bracket and bare_name.strip() and name.rstrip().endswith(">")
    if not is_picked or ">" in address or len(address.split()) > 1 or address != address.strip():
        return name, None
    return bare_name.rstrip(), address.casefold()


def address_matches_name(address: str, name: str) -> bool:
    """Return whether the address is made of a name: `jonas.weber@`, `weber_jonas@` or `jweber@` for Jonas Weber."""
    local = [
        part.rstrip("0123456789") for part in words(address.partition("@")[0].replace("_", "."))
    ]
    return any(_spells_name(local, spelling) for spelling in ascii_spellings(name))


def likely_address_prefixes(name: str) -> list[str]:
    """Return what the address of somebody with this name begins with most often; none for a single word."""
    return [
        begin
        for spelling in ascii_spellings(name)
        if len(spelling) > 1
        for begin in (
            f"{spelling[0]}.{spelling[-1]}",
            f"{spelling[0]}_{spelling[-1]}",
            f"{spelling[0][0]}{spelling[-1]}",
        )
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
    groups = _own_addresses(names, sentences)
    in_chunk: dict[ChunkId, _Whose] = {}
    in_document: dict[DocumentId, _Whose] = {}
    for passage in passages:
        those = _addresses_in(passage.chunk.text, names, groups)
        in_chunk[passage.chunk.id] = those
        in_document.setdefault(passage.chunk.document_id, set()).update(those)
    sentences_of: dict[frozenset[str], list[CandidateSentence]] = {}
    for sentence in sentences:
        chunk, text = sentence.quote.evidence.chunk, sentence.quote.text
        near = (
            _addresses_in(text, names, groups),
            _addresses_in(sentence.quote.context, names, groups),
            in_chunk[chunk.id],
            in_document[chunk.document_id],
        )
        whose = next((those for those in near if those), set[frozenset[str]]())
        sentences_of.setdefault(next(iter(whose)) if len(whose) == 1 else frozenset(), []).append(
            sentence
        )
    people = [
        Namesake(addresses=tuple(sorted(addresses)), sentences=tuple(assigned))
        for addresses, assigned in sentences_of.items()
    ]
    return sorted(people, key=lambda person: (not person.addresses, person.addresses))


def _own_addresses(
    names: Sequence[str], sentences: Iterable[CandidateSentence]
) -> dict[str, frozenset[str]]:
    """Return, for each address that a sentence gives together with others beside one mention of the name, all of them."""
    groups: dict[str, frozenset[str]] = {}
    mentions = entity_names(names)
    for sentence in sentences:
        addresses = _addresses(sentence.quote.text, names)
        if len(addresses) > 1 and mentions.count_in(_ADDRESS.sub(" ", sentence.quote.text)) == 1:
            whole = frozenset(addresses).union(
                *(groups.get(address, frozenset()) for address in addresses)
            )
            groups.update({address: whole for address in whole})
    return groups


def _addresses_in(text: str, names: Sequence[str], groups: Mapping[str, frozenset[str]]) -> _Whose:
    return {groups.get(address, frozenset((address,))) for address in _addresses(text, names)}


def _addresses(text: str, names: Sequence[str]) -> set[str]:
    addresses = {match[0].casefold() for match in _ADDRESS.finditer(text)}
    return {
        address
        for address in addresses
        if any(address_matches_name(address, name) for name in names)
    }


def _spells_name(local: Sequence[str], name_words: Sequence[str]) -> bool:
    if len(name_words) < 2:
        return False
    first, last = name_words[0], name_words[-1]
    whole = "".join(local)
    return {first, last} <= {*local} or whole in (
        first + last,
        last + first,
        first[0] + last,
        last + first[0],
    )
