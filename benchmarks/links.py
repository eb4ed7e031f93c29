"""How many of the true links across three systems are proposed, and marked as certain, and how many of these are right.

Uses the same keys and scores as the server, without a database: `python -m benchmarks links`.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from benchmarks.linked_systems import NOISE, Pair, World, make_world, ordered
from lightwell.domain.ids import EntityId
from lightwell.domain.item_structure import LinkType
from lightwell.domain.link_keys import MAX_BLOCK, LinkKey, link_keys, matching_keys
from lightwell.domain.link_scoring import ScoredLink, score_links
from lightwell.domain.link_subjects import LinkSubject
from lightwell.domain.links import CERTAIN

_IDENTITIES = ("company same_as", "person same_as", "deal mapped_to project")
"""What one company, person or piece of work is called in two systems. The other types are never certain."""

TUNED, HELD_OUT = (1, 2, 3), (201, 202, 203, 204, 205)


def proposals(world: World) -> list[ScoredLink]:
    """Return all proposals of a world, each pair compared once."""
    by_key: dict[LinkKey, list[LinkSubject]] = defaultdict(list)
    for subject in world.subjects:
        for key in link_keys(subject):
            by_key[key].append(subject)
    pairs = {
        (min(one.id, other.id), max(one.id, other.id)): (one, other)
        for one in world.subjects
        for key, kind in matching_keys(link_keys(one))
        if len(by_key[key]) <= MAX_BLOCK
        for other in by_key.get(LinkKey(kind, key.value), ())[: MAX_BLOCK + 1]
        if other.id != one.id and len(by_key[LinkKey(kind, key.value)]) <= MAX_BLOCK
    }
    return [link for one, other in pairs.values() for link in score_links(one, other)]


def kind_of(link: ScoredLink) -> str:
    """Return the kind of pair that the link is about, as `World.truth` names it."""
    is_company = link.source.kind in ("company", "customer")
    return {
        "same_as": f"{'company' if is_company else 'person'} same_as",
        "mapped_to": "deal mapped_to project",
        "belongs_to": "deal belongs_to company",
        "related_to": "person related_to company",
    }[link.type.value]


def measure(seeds: Sequence[int], noise: str) -> dict[str, tuple[int, int, int, int, int]]:
    """Return by kind: true pairs, certain ones, right certain ones, proposed ones, right proposed ones."""
    found: dict[str, tuple[int, int, int, int, int]] = {}
    for seed in seeds:
        world = make_world(seed, NOISE[noise])
        by_kind: dict[str, list[ScoredLink]] = defaultdict(list)
        for link in proposals(world):
            by_kind[kind_of(link)].append(link)
        for kind, truth in world.truth.items():
            sure = [link for link in by_kind[kind] if link.confidence >= CERTAIN]
            certain = joined(sure) if kind.endswith("same_as") else {pair_of(link) for link in sure}
            proposed = {pair_of(link) for link in by_kind[kind]}
            new = (
                len(truth),
                len(certain),
                len(certain & truth),
                len(proposed),
                len(proposed & truth),
            )
            old = found.get(kind, (0, 0, 0, 0, 0))
            found[kind] = tuple(a + b for a, b in zip(old, new, strict=True))  # type: ignore[assignment]
    return found


def joined(links: Sequence[ScoredLink]) -> set[Pair]:
    """Return all pairs of different systems that these links join, also through a third entity, as retrieval follows them."""
    known = {each.id: each for link in links for each in (link.source, link.target)}
    groups: dict[EntityId, set[EntityId]] = {each: {each} for each in known}
    for link in links:
        group = groups[link.source.id] | groups[link.target.id]
        groups |= dict.fromkeys(group, group)
    return {
        ordered(LinkType.SAME_AS, one, other)
        for group in groups.values()
        for one in group
        for other in group
        if known[one].system != known[other].system
    }


def pair_of(link: ScoredLink) -> Pair:
    return ordered(link.type, link.source.id, link.target.id)


def rows(seeds: Sequence[int], noise: str) -> Iterable[str]:
    found = measure(seeds, noise)
    one = [each for kind, each in found.items() if kind in _IDENTITIES]
    total = tuple(sum(each[column] for each in one) for column in range(5))
    for kind, (true, certain, right, proposed, hits) in [
        *((kind, found[kind]) for kind in _IDENTITIES),
        ("**these three**", total),
        *((kind, each) for kind, each in sorted(found.items()) if kind not in _IDENTITIES),
    ]:
        precision = f"{right / certain:.3f}" if certain else "none"
        yield (
            f"| {kind} | {true} | {precision} | {right / true:.3f} "
            f"| {hits / max(proposed, 1):.3f} | {hits / true:.3f} |"
        )


def main(arguments: Sequence[str] = ()) -> None:
    """Print the tables; takes no arguments."""
    del arguments
    for seeds, name in ((TUNED, "seeds used for tuning"), (HELD_OUT, "seeds not used for tuning")):
        for noise in NOISE:
            print(f"\n{noise} noise, {name} {seeds}\n")
            print("| pairs | true | certain: precision | recall | proposed: precision | recall |")
            print("|---|--:|--:|--:|--:|--:|")
            print("\n".join(rows(seeds, noise)))


if __name__ == "__main__":
    main()
