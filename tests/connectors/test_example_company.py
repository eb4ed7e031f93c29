"""The example company in the stand-ins can be read, and its private parts have readers of their own."""

import httpx

from lightwell.connectors.attio.source import open_attio
from lightwell.connectors.chatwoot.source import open_chatwoot
from lightwell.testing import attio, chatwoot
from lightwell.testing.attio_server import make_attio_app
from lightwell.testing.chatwoot_server import make_chatwoot_app
from lightwell.testing.example_company import fill_attio, fill_chatwoot
from tests.connectors.pulling import Shelf


async def test_the_example_company_is_in_both_systems() -> None:
    crm, support, shelf = attio.FakeAttio(), chatwoot.FakeChatwoot(), Shelf()
    fill_attio(crm)
    fill_chatwoot(support)
    transport = httpx.ASGITransport(make_attio_app(crm))
    async with open_attio({}, attio.TOKEN, attio.SECRET, transport) as source:
        await shelf.sync(source)
    shelf.cursors.clear()
    transport = httpx.ASGITransport(make_chatwoot_app(support))
    options = {"base_url": support.base_url, "account": "1"}
    async with open_chatwoot(options, chatwoot.TOKEN, chatwoot.SECRET, transport) as source:
        await shelf.sync(source)
    documents = [each for item in shelf.documents.values() for each in item]
    emails = {
        (entity.ref.partition(":")[0], entity.attributes.get("email"))
        for document in documents
        for entity in document.structure.entities
    }
    katrin = "katrin.albers@nordwind.example"
    assert {("attio", katrin), ("chatwoot", katrin)} <= emails
    (secret,) = (each for each in documents if b"other customer" in each.content)
    assert all(tag.endswith(":internal") for tag in secret.acl_tags)
