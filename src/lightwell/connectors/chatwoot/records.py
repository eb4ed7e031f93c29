"""Contacts, companies and help-centre articles as items."""

from collections.abc import Sequence
from dataclasses import replace

from lightwell.connectors.chatwoot.account import (
    ACCOUNT_NOTES_TAGS,
    ACCOUNT_TAGS,
    HELP_CENTRE_TAGS,
    SYSTEM,
    Account,
)
from lightwell.connectors.chatwoot.conversations import label, plain
from lightwell.connectors.chatwoot.models import (
    Article,
    Company,
    Contact,
    ContactNote,
    Portal,
    read_time,
    time_text,
)
from lightwell.connectors.item_documents import (
    ItemText,
    clean,
    field_lines,
    make_item_document,
    one_line,
    plain_paragraphs,
)
from lightwell.connectors.rows import Json
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.domain.item_structure import ItemStructure, LinkType, StatedEntity, StatedLink
from lightwell.domain.source_items import SourceItem

_CHURNING = frozenset("last_activity_at availability_status thumbnail contact_inboxes".split())


def contact_ref(contact_id: int) -> GlobalRef:
    return global_ref(SYSTEM, "contact", str(contact_id))


def make_contact(
    account: Account, contact: Contact, raw: Json, notes: Sequence[ContactNote]
) -> SourceItem:
    """Return a contact, with the agents' notes about it as another document."""
    structure = _contact_structure(account, contact)
    entity = structure.entities[0]
    more = contact.additional_attributes
    named = contact.company.name if contact.company else ""
    head = field_lines(
        [
            ("Contact", entity.name),
            ("E-mail", contact.email),
            ("Phone", contact.phone_number),
            ("Company", (named or plain(contact.additional_attributes.get("company_name")))),
            ("City", plain(more.get("city"))),
            ("Country", plain(more.get("country"))),
            *((label(name), plain(value)) for name, value in contact.custom_attributes.items()),
            ("Created", time_text(contact.created_at)),
        ]
    )
    text = ItemText(
        system=SYSTEM,
        kind="contact",
        source_id=str(contact.id),
        item_ref=entity.ref,
        url=entity.url,
        title=entity.name,
        text=head,
        tags=ACCOUNT_TAGS,
        structure=structure,
        created_at=read_time(contact.created_at),
        updated_at=read_time(contact.created_at),
        payload={name: value for name, value in raw.items() if name not in _CHURNING},
    )
    documents = [make_item_document(text)]
    if notes:
        parts = [field_lines([("Notes on contact", text.title)])]
        for note in sorted(notes, key=lambda note: note.id):
            author = one_line(note.user.shown_name) if note.user else "Agent"
            heading = ", ".join(part for part in (author, time_text(note.created_at)) if part)
            parts += [f"## {heading}", plain_paragraphs(note.content)]
        documents.append(
            make_item_document(
                replace(
                    text,
                    kind="contact-notes",
                    url=f"{text.url}#notes",
                    title=f"Notes on contact {text.title}",
                    text="\n\n".join(parts),
                    tags=ACCOUNT_NOTES_TAGS,
                    created_at=read_time(min((note.created_at or 0 for note in notes), default=0)),
                    structure=ItemStructure(entities=text.structure.entities[:1]),
                    payload={"notes": [note.model_dump(mode="json") for note in notes]},
                )
            )
        )
    return SourceItem(ref=entity.ref, documents=tuple(documents))


def make_company(account: Account, company: Company, raw: Json) -> SourceItem:
    name = one_line(company.name) or company.domain or f"Company {company.id}"
    domain = company.domain.lower()
    entity = StatedEntity(
        ref=global_ref(SYSTEM, "company", str(company.id)),
        kind="company",
        name=name,
        url=f"{account.page}/companies/{company.id}",
        attributes={"domain": domain} if domain else {},
    )
    head = field_lines([("Company", name), ("Domain", domain)])
    return _single(
        ItemText(
            system=SYSTEM,
            kind="company",
            source_id=str(company.id),
            item_ref=entity.ref,
            url=entity.url,
            title=name,
            text=f"{head}\n\n{plain_paragraphs(company.description)}".strip(),
            tags=ACCOUNT_TAGS,
            structure=ItemStructure(entities=(entity,)),
            payload=raw,
        )
    )


def make_article(account: Account, portal: Portal, article: Article, raw: Json) -> SourceItem:
    """Return a published article of a help centre, at its public address."""
    url = f"{account.base_url}/hc/{portal.slug}/articles/{article.slug or article.id}"
    title = one_line(article.title) or f"Article {article.id}"
    entity = StatedEntity(
        ref=global_ref(SYSTEM, "article", str(article.id)), kind="article", name=title, url=url
    )
    author = one_line(article.author.shown_name) if article.author else ""
    head = field_lines(
        [
            ("Help centre", portal.name),
            ("Article", title),
            ("Category", article.category.name if article.category else ""),
            ("Summary", article.description),
            ("Updated", time_text(article.updated_at)),
        ]
    )
    return _single(
        ItemText(
            system=SYSTEM,
            kind="article",
            source_id=str(article.id),
            item_ref=entity.ref,
            url=url,
            title=title,
            text=f"{head}\n\n{clean(article.content).strip()}",
            tags=HELP_CENTRE_TAGS,
            structure=ItemStructure(entities=(entity,)),
            author=author,
            author_ref=f"{SYSTEM}:user:{article.author.id}" if article.author else "",
            updated_at=read_time(article.updated_at),
            payload={name: value for name, value in raw.items() if name != "views"},
        )
    )


def _contact_structure(account: Account, contact: Contact) -> ItemStructure:
    attributes = {
        "email": contact.email.lower(),
        "phone": contact.phone_number,
        "external_id": contact.identifier,
        "location": plain(contact.additional_attributes.get("city")),
    }
    entity = StatedEntity(
        ref=contact_ref(contact.id),
        kind="person",
        name=one_line(contact.shown_name),
        url=f"{account.page}/contacts/{contact.id}",
        attributes={name: value for name, value in attributes.items() if value},
    )
    if contact.company is None:
        return ItemStructure(entities=(entity,))
    company = StatedEntity(
        ref=global_ref(SYSTEM, "company", str(contact.company.id)),
        kind="company",
        name=one_line(contact.company.name) or f"Company {contact.company.id}",
        url=f"{account.page}/companies/{contact.company.id}",
    )
    link = StatedLink(
        source=entity.ref, target=company.ref, type=LinkType.BELONGS_TO, relation="company"
    )
    return ItemStructure(entities=(entity, company), links=(link,))


def _single(text: ItemText) -> SourceItem:
    return SourceItem(ref=text.item_ref, documents=(make_item_document(text),))
