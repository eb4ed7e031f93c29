"""From Linear's other objects to items: readable texts, what they state, and who sees them.

Each function returns None for what must not be stored: it is in the trash, or nobody is known to see it.
"""

from lightwell.connectors.linear import entities
from lightwell.connectors.linear.api import Node
from lightwell.connectors.linear.entities import Home, Stated, build_structure, ref
from lightwell.connectors.linear.texts import (
    Written,
    describe_health,
    join_names,
    make_item,
    quote,
    read_work_state,
    render,
)
from lightwell.connectors.linear.values import (
    PUBLIC,
    Comment,
    Connection,
    Customer,
    CustomerNeed,
    Document,
    Initiative,
    InitiativeHome,
    InitiativeUpdate,
    Project,
    ProjectUpdate,
)
from lightwell.domain.item_structure import LinkType, StatedEntity, StatedLink
from lightwell.domain.source_items import SourceItem

_BELONGS, _RELATED, _THREAD = LinkType.BELONGS_TO, LinkType.RELATED_TO, LinkType.THREAD_OF


def read_comment(raw: Node) -> SourceItem | None:
    """Return the comment's item, None also for one that Linear hides because it only repeats an integration's words."""
    comment = Comment.model_validate(raw)
    home = entities.comment_home(comment)
    if home is None or _is_hidden(home) or comment.hide_in_linear:
        return None
    author = entities.author_of(comment.user, comment.external_user, comment.bot_actor)
    title = f"Comment on {home.title}"
    facts = [("Author", author[0]), ("Date", comment.created_at)]
    url = entities.cut_slug(comment.url, home.entity.name)
    entity = StatedEntity(
        ref=ref("comment", comment.id),
        kind="comment",
        name=f"Comment by {author[0] or 'somebody'} on {home.entity.name}",
        url=url,
    )
    stated = [Stated(home.entity, _THREAD, home.label.lower())]
    if comment.parent_id:
        above = StatedEntity(
            ref=ref("comment", comment.parent_id),
            kind="comment",
            name=f"Comment on {home.entity.name}",
        )
        stated.append(Stated(above, _THREAD, "reply_to"))
    stated += entities.state_people(author=comment.user)
    stated += entities.state_outsider(comment.external_user, "author")
    return make_item(
        "comment",
        comment,
        Written(
            title=title,
            url=url,
            content=render(title, facts, quote(comment.quoted_text), comment.body),
            tags=home.tags,
            structure=build_structure(entity, stated),
            raw=raw,
            author=author,
        ),
    )


def read_project(raw: Node) -> SourceItem | None:
    project = Project.model_validate(raw)
    home = entities.project_home(project)
    if _is_hidden(home):
        return None
    initiatives = [
        initiative for initiative in project.initiatives.nodes if _may_name(home, initiative)
    ]
    facts = [
        ("Status", project.status.name),
        ("Health", describe_health(project.health)),
        ("Priority", "" if project.priority_label == "No priority" else project.priority_label),
        ("Lead", project.lead.name if project.lead else ""),
        ("Teams", ", ".join(sorted(team.name for team in entities.known_teams(project)))),
        ("Initiatives", ", ".join(sorted(initiative.name for initiative in initiatives))),
        ("Start", project.start_date),
        ("Target", project.target_date),
        ("Completed", project.completed_at),
        ("Canceled", project.canceled_at),
        ("Archived", project.archived_at),
        ("Labels", join_names(project.labels.nodes)),
    ]
    stated = [
        *entities.state_people(lead=project.lead, creator=project.creator),
        *(
            Stated(entities.describe_team(team), _BELONGS, "team")
            for team in entities.known_teams(project)
        ),
        *(
            Stated(entities.describe_initiative(initiative), _BELONGS, "initiative")
            for initiative in initiatives
        ),
    ]
    names = {initiative.id for initiative in initiatives}
    kept = frozenset(names)
    nodes = Connection[Node].model_validate(raw["initiatives"]).nodes
    return make_item(
        "project",
        project,
        Written(
            title=f"Project {project.name}",
            url=project.url,
            content=render(f"Project {project.name}", facts, project.description, project.content),
            tags=home.tags,
            structure=build_structure(home.entity, stated),
            metadata={"status": project.status.name, "labels": join_names(project.labels.nodes)},
            work_state=read_work_state(project.status.type),
            due=project.target_date,
            raw={
                **raw,
                "initiatives": {"nodes": [node for node in nodes if node.get("id") in kept]},
            },
            author=entities.author_of(project.creator),
        ),
    )


def read_project_update(raw: Node) -> SourceItem | None:
    update = ProjectUpdate.model_validate(raw)
    return _read_update("project_update", update, entities.project_home(update.project), raw)


def read_initiative_update(raw: Node) -> SourceItem | None:
    update = InitiativeUpdate.model_validate(raw)
    home = entities.initiative_home(update.initiative)
    return _read_update("initiative_update", update, home, raw)


def _read_update(
    kind: str, update: ProjectUpdate | InitiativeUpdate, home: Home, raw: Node
) -> SourceItem | None:
    if _is_hidden(home):
        return None
    author = entities.author_of(update.user)
    title = f"Update of {update.created_at.date().isoformat()} on {home.title}"
    facts = [
        ("Author", author[0]),
        ("Date", update.created_at),
        ("Health", describe_health(update.health)),
    ]
    entity = StatedEntity(ref=ref(kind, update.id), kind="update", name=title, url=update.url)
    stated = [
        Stated(home.entity, _BELONGS, home.label.lower()),
        *entities.state_people(author=update.user),
    ]
    return make_item(
        kind,
        update,
        Written(
            title=title,
            url=update.url,
            content=render(title, facts, update.body),
            tags=home.tags,
            structure=build_structure(entity, stated),
            metadata={"health": describe_health(update.health)},
            raw=raw,
            author=author,
        ),
    )


def read_initiative(raw: Node) -> SourceItem | None:
    initiative = Initiative.model_validate(raw)
    home = entities.initiative_home(initiative)
    if _is_hidden(home):
        return None
    above = initiative.parent_initiative
    parent = above if above and _may_name(home, above) else None
    facts = [
        ("Status", initiative.status),
        ("Owner", initiative.owner.name if initiative.owner else ""),
        ("Target", initiative.target_date),
        ("Archived", initiative.archived_at),
        ("Parent", parent.name if parent else ""),
    ]
    stated = entities.state_people(owner=initiative.owner, creator=initiative.creator)
    if parent:
        stated.append(Stated(entities.describe_initiative(parent), _BELONGS, "parent"))
    if initiative.lead_team:
        stated.append(Stated(entities.describe_team(initiative.lead_team), _BELONGS, "lead team"))
    title = f"Initiative {initiative.name}"
    return make_item(
        "initiative",
        initiative,
        Written(
            title=title,
            url=initiative.url,
            content=render(title, facts, initiative.description, initiative.content),
            tags=home.tags,
            structure=build_structure(home.entity, stated),
            metadata={"status": initiative.status},
            work_state=read_work_state(initiative.status),
            due=initiative.target_date,
            raw=raw if parent else {**raw, "parentInitiative": None},
            author=entities.author_of(initiative.creator),
        ),
    )


def read_document(raw: Node) -> SourceItem | None:
    document = Document.model_validate(raw)
    home = entities.document_home(document)
    if home is None or _is_hidden(home) or document.trashed:
        return None
    author = entities.author_of(document.creator)
    title = document.title.strip() or "Untitled document"
    facts = [
        (home.label, home.title),
        ("Author", author[0]),
        ("Created", document.created_at),
        ("Archived", document.archived_at),
    ]
    entity = StatedEntity(
        ref=ref("document", document.id), kind="document", name=title, url=document.url
    )
    stated = [
        Stated(home.entity, _BELONGS, home.label.lower()),
        *entities.state_people(creator=document.creator, editor=document.updated_by),
    ]
    return make_item(
        "document",
        document,
        Written(
            title=title,
            url=document.url,
            content=render(title, facts, document.content),
            tags=home.tags,
            structure=build_structure(entity, stated),
            raw=raw,
            author=author,
        ),
    )


def read_customer(raw: Node) -> SourceItem | None:
    customer = Customer.model_validate(raw)
    facts = [
        ("Status", customer.status.name),
        ("Tier", customer.tier.name if customer.tier else ""),
        ("Owner", customer.owner.name if customer.owner else ""),
        ("Domains", ", ".join(customer.domains)),
        ("Size", f"{customer.size:g}" if customer.size else ""),
        ("Annual revenue", f"{customer.revenue:,}" if customer.revenue else ""),
        ("Archived", customer.archived_at),
    ]
    entity = entities.describe_customer(customer)
    title = f"Customer {customer.name}"
    return make_item(
        "customer",
        customer,
        Written(
            title=title,
            url=customer.url,
            content=render(title, facts),
            tags=frozenset((entities.WORKSPACE_TAG,)),
            structure=build_structure(entity, entities.state_people(owner=customer.owner)),
            metadata={"status": customer.status.name},
            raw=raw,
        ),
    )


def read_customer_need(raw: Node) -> SourceItem | None:
    """Return the item of a customer's request; guests of its team do not see it."""
    need = CustomerNeed.model_validate(raw)
    if need.issue:
        home = entities.issue_home(need.issue)
    else:
        home = entities.project_home(need.project) if need.project else None
    if home is None or home.is_trashed or not home.request_tags:
        return None
    author = entities.author_of(need.creator)
    customer = entities.describe_customer(need.customer) if need.customer else None
    by = f" by {customer.name}" if customer else ""
    title = f"Request{by} for {home.title}"
    facts = [
        ("Important", "yes" if need.priority else ""),
        ("Author", author[0]),
        ("Date", need.created_at),
        ("Source", need.url),
    ]
    url = f"{home.entity.url}#request-{need.id}"
    entity = StatedEntity(
        ref=ref("customer_need", need.id),
        kind="request",
        name=f"Request{by} for {home.entity.name}",
        url=url,
    )
    stated = [
        Stated(home.entity, _RELATED, home.label.lower()),
        *entities.state_people(author=need.creator),
    ]
    extra: list[StatedLink] = []
    if customer:
        stated.append(Stated(customer, _BELONGS, "customer"))
        extra.append(
            StatedLink(
                source=home.entity.ref, target=customer.ref, type=_RELATED, relation="requested by"
            )
        )
    return make_item(
        "customer_need",
        need,
        Written(
            title=title,
            url=url,
            content=render(title, facts, need.content),
            tags=home.request_tags,
            structure=build_structure(entity, stated, extra),
            raw=raw,
            author=author,
        ),
    )


def _is_hidden(home: Home) -> bool:
    return home.is_trashed or not home.tags


def _may_name(home: Home, initiative: InitiativeHome) -> bool:
    """Return whether everybody in the home may know the initiative's name."""
    team = initiative.lead_team
    is_near = team is not None and home.teams == frozenset((team.id,))
    return not initiative.trashed and (initiative.visibility == PUBLIC or is_near)
