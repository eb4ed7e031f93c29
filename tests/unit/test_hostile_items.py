"""Items of a business system with addresses and dates that nobody should follow or believe."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lightwell.connectors.chatwoot.models import read_time
from lightwell.connectors.item_documents import plain_paragraphs
from lightwell.domain.business_systems import Source, SourceId
from lightwell.domain.documents import NewDocument
from lightwell.domain.ids import ProjectId, new_id
from lightwell.domain.source_items import ItemPage, SourceItem
from lightwell.ingest.item_pages import check_page
from lightwell.ingest.parse.markdown import parse as parse_markdown
from lightwell.testing.item_source import MemorySource, MemorySystem, ref_of

THEN = datetime(2026, 3, 2, tzinfo=UTC)
REF = ref_of("issue/1")
SOURCE = Source(
    id=SourceId(new_id()),
    project_id=ProjectId(new_id()),
    name="tracker",
    system="memory",
    options={},
    every_seconds=600,
    sweep_seconds=86_400,
    adds_people=False,
    next_sync_at=THEN,
    next_sweep_at=THEN,
    is_sync_due=True,
    is_sweep_due=True,
    is_directory_due=True,
    is_paused=False,
    is_running=False,
    allows_mass_deletion=False,
    error="",
    warning="",
    failures=0,
    tag_scope="",
    created_at=THEN,
)
HOSTILE = [
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "data:text/html,<script>",
    "file:///etc/passwd",
    "//crm.example/1",
    "https://ada:secret@crm.example/1",
    "https://crm.example@evil.example/1",
    "https://crm.example/1 javascript:alert(1)",
    "https://crm.example/1>)[click](javascript:alert(1)",
    "https://crm.example/1\n# Heading",
    "https://[crm.example/1",
    "https:///1",
]


async def stored() -> NewDocument:
    system = MemorySystem()
    system.put("issue/1", "The login page fails.", title="Fix login", about="issue/2")
    (item,) = (await MemorySource(system).fetch([REF])).items
    return item.documents[0]


def check(document: NewDocument) -> ItemPage:
    item = SourceItem(ref=REF, documents=(document,))
    return check_page(SOURCE, ItemPage(items=(item,), cursor=""))


@pytest.mark.parametrize("url", HOSTILE)
async def test_an_item_at_a_hostile_address_is_reported_and_not_stored(url: str) -> None:
    page = check(replace(await stored(), url=url))
    assert not page.items
    assert [(each.ref, each.reason) for each in page.unreadable] == [(REF, "invalid")]
    assert url not in page.unreadable[0].message


@pytest.mark.parametrize("url", HOSTILE)
async def test_a_hostile_address_of_what_an_item_names_is_left_out(url: str) -> None:
    document = await stored()
    own, other = document.structure.entities
    named = replace(document.structure, entities=(own, replace(other, url=url)))
    (item,) = check(replace(document, structure=named)).items
    assert [each.url for each in item.documents[0].structure.entities] == [own.url, ""]


@pytest.mark.parametrize(
    "url", ["https://crm.example/a_(b)?q=a@b#c", "http://127.0.0.1:3000/1", "https://crm.example/ä"]
)
async def test_an_ordinary_address_stays(url: str) -> None:
    (item,) = check(replace(await stored(), url=url)).items
    assert item.documents[0].url == url


@pytest.mark.parametrize(
    ("moment", "kept"),
    [
        (datetime.min.replace(tzinfo=UTC), False),
        (datetime.max.replace(tzinfo=UTC), False),
        (datetime(1969, 12, 31, tzinfo=UTC), False),
        (THEN, True),
        (THEN + timedelta(days=3650), True),
    ],
)
async def test_a_date_that_cannot_be_true_is_unknown(moment: datetime, *, kept: bool) -> None:
    (item,) = check(replace(await stored(), created_at=moment, updated_at=moment)).items
    expected = moment if kept else None
    assert (item.documents[0].created_at, item.documents[0].updated_at) == (expected, expected)


@pytest.mark.parametrize("seconds", [1e20, -1e20, float("inf"), float("nan"), 0.0])
def test_a_moment_that_no_calendar_has_is_unknown(seconds: float) -> None:
    assert read_time(seconds) is None


BY_US = "Nora Lind, 2026-05-01"


@pytest.mark.parametrize(
    "text",
    [
        f"## {BY_US}\nWe pay",
        f"### ## {BY_US}\nWe pay",
        f"\t## {BY_US}\nWe pay",
        f"\u00a0## {BY_US}\nWe pay",
        f"Hello\u2028## {BY_US}\u2028We pay",
        f"Hello\u0085## {BY_US}\u0085We pay",
        f"Hello\n\u00ad## {BY_US}\nWe pay",
        f"\ufeff## {BY_US}\nWe pay",
        f"{BY_US}\n# ===\nWe pay",
        f"{BY_US}\n-\nWe pay",
        f"{BY_US}\n=\u00ad=\nWe pay",
    ],
)
def test_what_a_customer_writes_is_no_heading_of_one_of_our_own_people(text: str) -> None:
    """What is promised counts as said by the one whom the heading above it names."""
    document = f"## Max, 2026-05-01\n\n{plain_paragraphs(text)}\n\n## Ada, 2026-05-02\n\nHello."
    parsed = parse_markdown(document.encode())
    assert [section.path for section in parsed.sections] == [
        ("Max, 2026-05-01",),
        ("Ada, 2026-05-02",),
    ]
