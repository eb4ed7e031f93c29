"""Proposes links for entities of business systems whose profiles changed; the cost does not grow with the store.

changed profile ─ keys ─► others with an equal key ─ score ─► proposals, which people confirm or reject
"""

from lightwell.domain.ids import ProjectId
from lightwell.domain.link_keys import link_keys
from lightwell.domain.link_scoring import score_links
from lightwell.domain.link_subjects import LinkSubject
from lightwell.records.database import Database, repeatable
from lightwell.records.graph import link_proposals
from lightwell.records.graph.link_proposals import ClassPairLink, SubjectKey
from lightwell.records.locks import lock_project

_BATCH = 50


async def propose_links(database: Database, project_id: ProjectId) -> None:
    """Propose links for all entities that changed, in short transactions."""
    while await _propose_batch(database, project_id) == _BATCH:
        pass


@repeatable
async def _propose_batch(database: Database, project_id: ProjectId) -> int:
    """Propose links for some changed entities and return how many these were."""
    async with database.transaction() as connection:
        await lock_project(connection, project_id)
        taken = await link_proposals.take_changed(connection, project_id, limit=_BATCH)
        if taken:
            subjects = await link_proposals.load_subjects(connection, project_id, taken)
            keys = {key: link_keys(subject) for key, subject in subjects.items()}
            await link_proposals.store_keys(connection, project_id, taken, keys)
            pairs = await link_proposals.find_candidates(connection, project_id, keys)
            missing = {other for _, other in pairs if other not in subjects}
            others = await link_proposals.load_subjects(connection, project_id, missing)
            links = _score(subjects | others, pairs)
            await link_proposals.replace_proposals(connection, project_id, taken, links)
    return len(taken)


def _score(
    subjects: dict[SubjectKey, LinkSubject], pairs: list[tuple[SubjectKey, SubjectKey]]
) -> list[ClassPairLink]:
    """Return the likely links of these pairs, each pair once."""
    links: list[ClassPairLink] = []
    for first, other in sorted({(min(pair), max(pair)) for pair in pairs}):
        for link in score_links(subjects[first], subjects[other]):
            forward = link.source.id == first.entity_id
            source, target = (first, other) if forward else (other, first)
            links.append(
                ClassPairLink(link=link, source_class=source.class_id, target_class=target.class_id)
            )
    return links
