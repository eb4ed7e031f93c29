"""Ask: the question, the answer sentence by sentence, its sources, what one does with it, and what goes wrong."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import PageAs
from tests.browser.demo import Demo
from tests.browser.looking import axe, screenshot
from tests.browser.people import CALM, DARK, GERMAN, PHONE
from tests.browser.stream_gate import gate_before

DISCOUNT = "What discount does Nordwind Energie receive?"
LEAK = "How small a leak must the Tarn 4 detect on cast iron and on polyethylene?"
LEAVE = "How many days of leave does a person get?"
HIDDEN = "18 percent"


def ask(page: Page, question: str) -> Locator:
    """Ask, and return the answer when it is complete."""
    page.get_by_role("textbox", name="Question").fill(question)
    page.keyboard.press("Enter")
    return complete(page)


def complete(page: Page) -> Locator:
    answer = page.locator("main article").last
    expect(answer).to_have_attribute("aria-busy", "false")
    return answer


def lead_of(answer: Locator) -> Locator:
    return answer.locator(".answer p")


def source(answer: Locator, number: int = 1) -> Locator:
    return answer.locator("sup").get_by_role("button", name=f"Source {number}").first


def test_two_people_ask_the_same_and_get_what_each_may_see(
    page_as: PageAs, texts_received: Callable[[Page], str]
) -> None:
    grace, ada = page_as("grace"), page_as("ada")
    answer = ask(grace, DISCOUNT)
    expect(answer).to_contain_text(re.compile("Answered, (high|medium) confidence"))
    expect(lead_of(answer)).to_have_count(1)
    expect(lead_of(answer)).to_contain_text(HIDDEN)
    assert HIDDEN in texts_received(grace)
    refused = ask(ada, DISCOUNT)
    expect(refused).to_contain_text("Not in what you can see")
    expect(refused).to_contain_text("Nothing you can see answers this")
    expect(refused.locator("details")).not_to_have_attribute("open", "")
    refused.get_by_text("What came nearest").click()
    expect(refused.get_by_role("list", name="Sources").get_by_role("button").first).to_be_visible()
    assert HIDDEN not in texts_received(ada)
    assert "HI-2026-014" not in ada.content()


def test_a_link_gives_a_colleague_the_answer_with_their_own_access(
    page_as: PageAs, texts_received: Callable[[Page], str]
) -> None:
    address = f"/?q={quote(DISCOUNT)}"
    expect(lead_of(complete(page_as("grace", address)))).to_contain_text(HIDDEN)
    ada = page_as("ada", address)
    expect(complete(ada)).to_contain_text("Not in what you can see")
    assert HIDDEN not in texts_received(ada)
    expect(ada).to_have_url(re.compile(r"/c/[0-9a-f-]{36}$"))


def test_nobody_opens_the_conversation_of_somebody_else(
    page_as: PageAs, texts_received: Callable[[Page], str]
) -> None:
    grace = page_as("grace")
    ask(grace, DISCOUNT)
    expect(grace).to_have_url(re.compile("/c/"))
    ada = page_as("ada", grace.url)
    expect(ada.get_by_role("alert")).to_be_visible()
    assert HIDDEN not in texts_received(ada)


def test_a_number_shows_its_quotation_and_opens_it(page_as: PageAs) -> None:
    page = page_as("grace")
    answer = ask(page, DISCOUNT)
    source(answer).hover()
    hint = page.get_by_role("tooltip").filter(has_text="Supply contract")
    expect(hint).to_be_visible()
    expect(hint.locator("mark")).to_have_text(
        "Nordwind receives a discount of 18 percent on all items."
    )
    screenshot(page, "ask-quotation")
    source(answer).click()
    expect(page).to_have_url(re.compile(r"#d=[^&]+&s=\d+-\d+$"))
    expect(source(answer)).to_have_class(re.compile(r"\bon\b"))


def test_sentences_come_one_by_one_and_nothing_jumps(page_as: PageAs, demo: Demo) -> None:
    page = page_as("ada")
    with gate_before(page, demo.url) as gate:
        page.get_by_role("textbox", name="Question").fill(LEAK)
        page.keyboard.press("Enter")
        answer = page.locator("main article")
        gate.let_through()
        expect(answer).to_contain_text("Searching")
        gate.let_through()
        expect(answer).to_contain_text("Reading Tarn 4 product specification")
        gate.let_through()
        expect(answer).to_contain_text(re.compile(r"Checking \d places"))
        heading = page.get_by_role("heading", name=LEAK, level=2)
        before = heading.bounding_box()
        gate.let_through(3)  # that it may not answer, a sentence, its citation
        expect(lead_of(answer)).to_have_count(1)
        expect(source(answer)).to_be_visible()
        first = lead_of(answer).first.bounding_box()
        expect(answer).to_have_attribute("aria-busy", "true")
        assert "0.8 litres" not in answer.inner_text()
        gate.let_through(10)
        expect(answer).to_have_attribute("aria-busy", "false")
        expect(lead_of(answer)).to_have_count(2)
        assert heading.bounding_box() == before
        assert lead_of(answer).first.bounding_box() == first


def test_an_answer_comes_while_one_looks_elsewhere(page_as: PageAs, demo: Demo) -> None:
    page = page_as("ada")
    with gate_before(page, demo.url) as gate:
        page.get_by_role("textbox", name="Question").fill(LEAK)
        page.keyboard.press("Enter")
        page.get_by_role("link", name="Documents").click()
        expect(page.get_by_role("heading", name="Documents", level=1)).to_be_visible()
        gate.let_through(100)
    page.get_by_role("link", name="Ask").click()
    expect(lead_of(complete(page))).to_have_count(2)
    expect(page).to_have_url(re.compile("/c/"))
    page.get_by_role("link", name="Ask").click()
    expect(page.locator("main article")).to_have_count(0)


def test_a_lost_connection_is_taken_up_where_it_broke(page_as: PageAs, demo: Demo) -> None:
    page = page_as("ada")
    with gate_before(page, demo.url) as gate:
        gate.waits_for_all, gate.cut_after = True, 5
        gate.let_through(100)
        answer = ask(page, LEAK)
        expect(lead_of(answer)).to_have_count(2)
        expect(answer).to_contain_text("1 document")
        first, last = gate.resumed_from
        assert (first, last.partition(":")[2]) == ("", "5")


def test_a_server_that_stays_away_is_said_and_the_question_can_be_asked_again(
    page_as: PageAs, demo: Demo, expect_fault: Callable[[Page, str], None]
) -> None:
    page = page_as("ada")
    expect_fault(page, "net::ERR_EMPTY_RESPONSE")
    with gate_before(page, demo.url) as gate:
        gate.cut_after, gate.refuses_resumption = 5, True
        gate.let_through(5)
        page.get_by_role("textbox", name="Question").fill(LEAK)
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
        expect(lead_of(page.locator("main article"))).to_have_count(1)
        expect(page.get_by_role("heading", name=LEAK, level=2)).to_be_visible()
        gate.let_through(100)
        page.get_by_role("button", name="Try again").click()
        expect(lead_of(complete(page))).to_have_count(2)
        expect(page.locator("main article")).to_have_count(1)


def test_stopping_keeps_what_came(page_as: PageAs, demo: Demo) -> None:
    page = page_as("ada")
    with gate_before(page, demo.url) as gate:
        page.get_by_role("textbox", name="Question").fill(LEAK)
        page.keyboard.press("Enter")
        gate.let_through(5)
        answer = page.locator("main article")
        expect(lead_of(answer)).to_have_count(1)
        page.get_by_role("button", name="Stop").click()
        expect(answer).to_contain_text("Stopped")
        expect(lead_of(answer)).to_have_count(1)
    answer.get_by_role("button", name="Ask again").click()
    expect(lead_of(complete(page))).to_have_count(2)


def test_a_session_that_ends_keeps_the_question(page_as: PageAs) -> None:
    page = page_as("ada")
    ask(page, LEAK)
    page.context.clear_cookies()
    page.get_by_role("textbox", name="Question").fill("And on polyethylene?")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="You are signed out")
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    expect(page.get_by_role("heading", name="And on polyethylene?", exact=True)).to_be_visible()
    expect(page.get_by_role("alert")).to_be_visible()


def test_a_follow_up_goes_on_and_the_conversation_is_there_again(page_as: PageAs) -> None:
    page = page_as("grace")
    ask(page, "Who is the purchasing manager at Nordwind Energie?")
    answer = ask(page, "And what discount does it receive?")
    expect(lead_of(answer)).to_contain_text(HIDDEN)
    page.reload()
    expect(page.locator("main article")).to_have_count(2)
    expect(lead_of(page.locator("main article").last)).to_contain_text(HIDDEN)
    source(page.locator("main article").last).click()
    expect(page).to_have_url(re.compile("#d="))


def test_an_edited_question_replaces_what_came_after(page_as: PageAs) -> None:
    page = page_as("ada")
    ask(page, LEAVE)
    ask(page, DISCOUNT)
    first = page.locator("main article").first
    first.get_by_role("button", name="Edit the question").click()
    first.get_by_role("textbox", name="Edit the question").fill(LEAK)
    first.get_by_role("button", name="Ask again").click()
    expect(page.locator("main article")).to_have_count(1)
    expect(lead_of(complete(page))).to_have_count(2)
    page.reload()
    expect(page.get_by_role("heading", level=2)).to_have_text([LEAK])


def test_conversations_are_found_renamed_and_deleted(page_as: PageAs) -> None:
    page = page_as("bob")
    ask(page, LEAVE)
    page.get_by_role("button", name="Conversations").click()
    dialog = page.get_by_role("dialog", name="Conversations")
    dialog.get_by_role("button", name=f"More for {LEAVE}").click()
    page.get_by_role("menuitem", name="Rename").click()
    dialog.get_by_role("textbox", name="Rename").fill("Holidays")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("link", name="Holidays")).to_be_visible()
    axe(page)
    dialog.get_by_role("searchbox").fill("nothing like it")
    expect(dialog).to_contain_text("No conversation has this in its title")
    dialog.get_by_role("searchbox").fill("holi")
    dialog.get_by_role("button", name="More for Holidays").click()
    page.get_by_role("menuitem", name="Delete").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(dialog.get_by_role("link", name="Holidays")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"/$"))


def test_context_comes_on_demand_and_an_answer_is_copied_with_its_sources(page_as: PageAs) -> None:
    page = page_as("grace", permissions=["clipboard-read", "clipboard-write"])
    answer = ask(page, DISCOUNT)
    assert "confidential" not in answer.inner_text()
    answer.get_by_role("button", name="More context").click()
    expect(answer.get_by_role("region", name="Context")).to_contain_text("confidential")
    answer.get_by_role("button", name="Copy with sources").click()
    expect(page.get_by_text("Copied with its sources")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    lines = copied.splitlines()
    assert lines[0] == DISCOUNT
    assert lines[2] == "Nordwind receives a discount of 18 percent on all items. [1]"
    assert re.fullmatch(r"\[1\] Supply contract .*: http://127\.0\.0\.1:\d+/d/\S+", lines[4])


def test_thumbs_and_a_comment_are_kept(
    page_as: PageAs, requests_of: Callable[[Page], list[str]]
) -> None:
    page = page_as("grace")
    answer = ask(page, DISCOUNT)
    answer.get_by_role("button", name="Not helpful").click()
    answer.get_by_role("textbox", name="What was wrong").fill("Since when?")
    answer.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Thank you")).to_be_visible()
    expect(answer.get_by_role("button", name="Not helpful")).to_have_attribute(
        "aria-pressed", "true"
    )
    assert sum("/v1/feedback" in request for request in requests_of(page)) == 2


def test_a_name_that_means_several_is_settled_by_a_card(page_as: PageAs) -> None:
    page = page_as("bob")
    answer = ask(page, "Who is Jonas Weber?")
    expect(answer).to_contain_text("may be more than one")
    axe(page)
    answer.get_by_role("button", name="jonas.weber@nordwind.example").click()
    settled = complete(page)
    expect(settled.get_by_role("heading")).to_contain_text("<jonas.weber@nordwind.example>")
    expect(settled).not_to_contain_text("may be more than one")


def test_a_question_is_restricted_by_chips_that_one_takes_away(page_as: PageAs) -> None:
    page = page_as("grace")
    page.get_by_role("button", name="Filters").click()
    panel = page.get_by_role("dialog", name="Filters")
    panel.get_by_label("Source").select_option("file")
    panel.get_by_label("To").fill("2001-01-01")
    panel.get_by_label("Author").fill("Nobody")
    axe(page)
    screenshot(page, "ask-filters")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    answer = ask(page, DISCOUNT)
    expect(answer).to_contain_text("Not in what you can see")
    expect(answer).to_contain_text("until 1 Jan 2001")
    page.get_by_role("button", name="Without the filter: until").click()
    page.get_by_role("button", name="Without the filter: by Nobody").click()
    expect(lead_of(ask(page, DISCOUNT))).to_contain_text(HIDDEN)


def test_words_that_chose_the_documents_are_chips_that_one_takes_away(page_as: PageAs) -> None:
    page = page_as("bob", **PHONE)
    question = "How many gateways are dented, in documents from February 2026?"
    answer = ask(page, question)
    expect(lead_of(answer)).to_contain_text("Nine gateways are dented")
    chip = answer.get_by_role("button", name="Without the filter: since 1 Feb 2026")
    expect(chip).to_contain_text("until 28 Feb 2026")
    axe(page)
    screenshot(page, "ask-understood")
    chip.focus()
    page.keyboard.press("Enter")
    again = complete(page)
    expect(again.get_by_role("heading")).to_have_text(question)
    expect(again.get_by_role("button", name="Without the filter")).to_have_count(0)


def test_suggestions_are_answered(page_as: PageAs) -> None:
    page = page_as("ada")
    suggestion = page.get_by_role("listitem").get_by_role("button").first
    question = suggestion.inner_text()
    suggestion.click()
    answer = complete(page)
    expect(answer.get_by_role("heading")).to_have_text(question)
    expect(answer).to_contain_text("Answered")


def test_all_of_it_goes_by_keyboard(page_as: PageAs) -> None:
    page = page_as("grace")
    page.get_by_role("textbox", name="Question").blur()
    page.keyboard.press("/")
    expect(page.get_by_role("textbox", name="Question")).to_be_focused()
    page.keyboard.type("/" + DISCOUNT)  # once more, by whoever did not see that it is there
    expect(page.get_by_role("textbox", name="Question")).to_have_value(DISCOUNT)
    page.keyboard.press("Enter")
    answer = complete(page)
    page.locator("#content").focus()
    for _ in range(8):
        page.keyboard.press("Tab")
        if source(answer).evaluate("button => button === document.activeElement"):
            break
    expect(page.get_by_role("tooltip").filter(has_text="Supply contract")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("tooltip").filter(has_text="Supply contract")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#d="))


def test_each_answer_is_announced_once(page_as: PageAs) -> None:
    page = page_as("grace")
    ask(page, DISCOUNT)
    spoken = page.locator("[aria-live=polite].unseen")
    expect(spoken).to_have_text(
        "Answered. Nordwind receives a discount of 18 percent on all items."
    )


HOSTILE_NAME = "<img src=x onerror=alert(1)>"
HOSTILE = (
    "The zirconium valve opens at 4 bar, see <b>this</b> <svg onload=alert(2)> and"
    " [here](javascript:alert(3)), \u202eesrever\u202c, &lt;script&gt;.\n\n" + "x" * 10_000
)


def test_what_a_document_says_is_text(page_as: PageAs, demo: Demo) -> None:
    page = page_as("ada")
    headers = {"Authorization": f"Bearer {demo.keys['ada']}"}
    form: dict[str, Any] = {
        "files": {"name": "valve.txt", "mimeType": "text/plain", "buffer": HOSTILE.encode()},
        "title": HOSTILE_NAME,
        "aclTags": "user:ada",
    }
    uploaded = page.context.request.post("/v1/documents", headers=headers, multipart=form)
    assert uploaded.status == 202, uploaded.text()
    (job,) = (entry["jobId"] for entry in uploaded.json()["documents"])
    page.context.request.get(f"/v1/jobs/{job}/events", headers=headers)  # until it has ended
    answer = ask(page, "At what pressure does the zirconium valve open?")
    expect(lead_of(answer).first).to_contain_text("opens at 4 bar")
    expect(answer).to_contain_text(HOSTILE_NAME)
    source(answer).hover()
    hint = page.get_by_role("tooltip").filter(has_text=HOSTILE_NAME)
    expect(hint).to_contain_text("<svg onload=alert(2)>")
    expect(hint).to_contain_text("[here](javascript:alert(3))")
    assert page.locator("main img, main svg[onload], main script, main [onerror]").count() == 0
    assert page.locator("main a[href^='javascript']").count() == 0
    wide = page.evaluate("document.querySelector('main').scrollWidth - innerWidth")
    assert wide <= 0
    ask(page, "<script>alert(4)</script> " + "y" * 1900)
    wide = page.evaluate("document.querySelector('main').scrollWidth - innerWidth")
    assert wide <= 0


LOOKS: dict[str, Mapping[str, Any]] = {
    "light": {},
    "dark": DARK,
    "phone": PHONE,
    "phone-dark": {**PHONE, **DARK},
    "calm": CALM,
}


@pytest.mark.parametrize("name", LOOKS)
def test_it_is_usable_in_every_look(page_as: PageAs, name: str) -> None:
    page = page_as("grace", **LOOKS[name])
    expect(page.get_by_role("listitem").first).to_be_visible()
    axe(page)
    screenshot(page, f"ask-start-{name}")
    ask(page, DISCOUNT)
    axe(page)
    screenshot(page, f"ask-answered-{name}")
    ask(page, "Which colour has the moon?")
    axe(page)
    screenshot(page, f"ask-insufficient-{name}")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    ada = page_as("ada", **LOOKS[name])
    expect(ask(ada, LEAK)).to_contain_text("This may not answer it")
    axe(ada)
    screenshot(ada, f"ask-possibly-{name}")


def test_it_speaks_german(page_as: PageAs) -> None:
    page = page_as("grace", **GERMAN)
    page.get_by_role("textbox", name="Frage").fill(DISCOUNT)
    page.keyboard.press("Enter")
    expect(complete(page)).to_contain_text(
        re.compile("Beantwortet, (recht sicher|mittlere Sicherheit)")
    )
    screenshot(page, "ask-answered-german")
