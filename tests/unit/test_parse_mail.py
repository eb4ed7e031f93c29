"""Mails: who wrote what and when, without what others had said; hostile ones are refused or cut."""

import random
from collections.abc import Sequence
from contextlib import suppress
from email.message import EmailMessage

import pytest

from lightwell.domain.documents import Format, ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse import parse, split
from tests.mails import make_mail, make_mailbox

QUESTION = "Hello Ben,\n\nwhich port does the new printer on floor three use?\nI looked in vain.\n"
SIGNATURE = "-- \nAna Silva\nPhone 5550\n"
THREAD = [
    make_mail("Ana Silva <ana@x.example>", "Printer pört", QUESTION + SIGNATURE, number=1),
    make_mail(
        "Ben <ben@x.example>",
        "Re: Printer pört",
        "On Monday Ana Silva wrote:\n> which port does the new printer on floor\n> three use? I looked in vain.\n>"
        "\n> -- \n> Ana Silva\n\nIt uses port 9100:\n\n    lpadmin -v socket://p:9100\n",
        number=2,
        answers=1,
    ),
    make_mail(
        "Ana Silva <ana@x.example>",
        "AW: Printer pört",
        f"Thank you!\n{SIGNATURE}\n-----Original Message-----\nFrom: Ben\nSent: Monday\n\nIt uses port 9100:\n\n"
        "Which port does the new printer on floor three use?\n",
        number=3,
        answers=2,
    ),
]
LUNCH = make_mail("Eve <eve@x.example>", "Lunch", "From noon on there is soup.\n", number=4)


def read(content: bytes | EmailMessage) -> ParsedDocument:
    source = content if isinstance(content, bytes) else content.as_bytes()
    return parse(source, Format.MAIL, name="a.eml")


def sections(document: ParsedDocument) -> dict[str, str]:
    return {
        section.path[-1]: document.text[section.start : section.end]
        for section in document.sections
        if section.path
    }


def test_a_mail_has_its_subject_sender_and_date() -> None:
    document = read(THREAD[0])
    assert (document.title, document.author) == ("Printer pört", "Ana Silva")
    assert str(document.updated_at) == "2026-01-05 09:01:00+00:00"
    assert document.text.startswith(
        "From: Ana Silva <ana@x.example>\nTo: team@x.example\nDate: 2026-01-05 10:01\nSubject: Printer pört\n\nHello Ben,"
    )


def test_messages_of_a_thread_are_sections_and_say_nothing_twice() -> None:
    document = read(make_mailbox(THREAD))
    first, second, third = sections(document).items()
    assert document.title == "Printer pört"
    assert first[0] == "Ana Silva, 2026-01-05 10:01"
    assert "Phone 5550" in first[1]
    assert second[0] == "Ben, 2026-01-05 10:02"
    assert second[1].index("> which port") < second[1].index("It uses port 9100")
    assert second[1].count("Ana Silva") == 1
    assert third[1].endswith("Thank you!")


def test_a_report_that_differs_in_a_figure_is_not_taken_for_a_repetition() -> None:
    report = "Of the pumps that we sent to the customers of the north this week {} were running on Friday."
    mails = [
        make_mail("Ana <a@x.example>", "Pumps", report.format(number), number=number, answers=1)
        for number in (11, 12, 13)
    ]
    mails.append(make_mail("Ben <b@x.example>", "Pumps", report.format(13), number=14, answers=1))
    text = read(make_mailbox(mails)).text
    assert [text.count(f"week {number} were") for number in (11, 12, 13)] == [1, 1, 1]


def test_a_quotation_that_stands_nowhere_else_stays() -> None:
    text = read(THREAD[1]).text
    assert "On Monday Ana Silva wrote:" in text
    assert "> three use? I looked in vain." in text


def test_threads_of_a_mailbox_are_told_apart_and_joined_by_ids_or_subjects() -> None:
    loose = make_mail("Cy <c@x.example>", "Re: Lunch", "Which soup?\n", number=5)
    document = read(make_mailbox([THREAD[0], LUNCH, *THREAD[1:], loose]))
    assert [section.path[0] for section in document.sections] == [
        *["Printer pört"] * 4,
        *["Lunch"] * 3,
    ]
    assert "From noon on there is soup." in document.text


def test_threads_and_files_are_parts_whose_keys_stay() -> None:
    with_file = make_mail("Eve <e@x.example>", "Menu", "Here.\n", number=6, answers=4)
    with_file.add_attachment("# Soups\n\nPea.", subtype="markdown", filename="../menu.md")
    with_file.add_attachment(b"GIF89a", maintype="image", subtype="gif", filename="a.gif")
    few = split(make_mailbox([*THREAD, LUNCH]), Format.MAIL)
    more = split(make_mailbox([*THREAD, LUNCH, with_file]), Format.MAIL)
    assert [part.key for part in more[:2]] == [part.key for part in few]
    assert more[0] == few[0]
    assert more[2].key == f"{few[1].key}/menu.md"
    assert (more[2].format, more[2].content) == (Format.MARKDOWN, b"# Soups\n\nPea.\n")
    assert read(more[1].content).title == "Lunch"
    assert len(more) == 3
    overview = parse(make_mailbox([*THREAD, LUNCH]), Format.MAILBOX, name="a.mbox").text
    assert "- Printer pört; Ana Silva, Ben; 2026-01-05\n- Lunch; Eve; 2026-01-05" in overview


def test_where_nobody_splits_a_mail_its_files_are_sections_of_it() -> None:
    menu = make_mail("Eve <e@x.example>", "Menu", "Here.\n", number=6)
    menu.add_attachment(
        "# Soups\n\nPea.\n\n## Friday\n\n```\nx\n```\n", subtype="markdown", filename="menu.md"
    )
    menu.add_attachment(b"\x89PNG\r\n", maintype="image", subtype="png", filename="a.png")
    menu.add_attachment(
        *(b"\x89PNG\r\n", "image", "png"), filename="logo.png", disposition="inline", cid="<a@b>"
    )
    document = read(menu)
    assert "Attachments: menu.md, a.png\n" in document.text
    whole = [section.path for section in document.sections]
    assert whole == [(), ("menu.md",), ("menu.md", "Soups"), ("menu.md", "Soups", "Friday")]
    friday, (code,) = document.sections[-1], document.spans
    assert document.text[friday.start : friday.end].startswith("## Friday")
    assert document.text[code.start : code.end] == "```\nx\n```"
    alone = parse(menu.as_bytes(), Format.MAILBOX, name="a.eml")
    assert "Pea" not in alone.text
    thread, *_ = split(make_mailbox([menu]), Format.MAIL)
    assert "Pea" not in read(thread.content).text
    assert "Pea" in read(make_mailbox([menu])).text


def test_a_mail_in_a_mail_is_a_part_and_so_are_its_files() -> None:
    inner = make_mail("Ana <ana@x.example>", "Offer 7", "The offer is attached.\n", number=7)
    inner.add_attachment("Price: 40", filename="offer.txt")
    outer = make_mail("Ben <b@x.example>", "Fwd: Offer 7", "See below.\n", number=8)
    outer.add_attachment(inner)
    outer.add_attachment("Price: 40", filename="again.txt")
    parts = split(outer.as_bytes(), Format.MAIL)
    assert [part.key for part in parts] == ["Offer 7.eml", "offer.txt"]
    assert "The offer is attached." in read(parts[0].content).text


def test_html_is_read_where_there_is_no_plain_text() -> None:
    message = EmailMessage()
    message["From"], message["Subject"] = "shop@x.example", "Order"
    message.set_content(
        "<p>Order <b>17</b></p><script>x()</script><table><tr><td>a<td>b</table>", "html"
    )
    text = read(message).text
    assert "Order 17" in text
    assert "| a | b |" in text
    assert "x()" not in text
    message.add_alternative("Only this.", "plain")
    assert read(message).text.endswith("Only this.")


@pytest.mark.parametrize("charset", ["koi8-r", "no-such", "undefined", "utf-7", "x" * 5000, "hex"])
def test_a_wrong_charset_loses_no_message(charset: str) -> None:
    source = (
        b"From: a@x.example\nSubject: =?%s?q?S?=\nContent-Type: text/plain; charset=%s\n\nPump A7."
    )
    text = read(source % (charset.encode(), charset.encode())).text
    assert "Pump A7." in text


def deep(levels: int) -> bytes:
    head = b"From: a@x.example\nSubject: Deep\n"
    for level in range(levels):
        head += b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (level, level)
    return head + b"\nThe core."


@pytest.mark.parametrize(
    "source",
    [
        deep(150),
        deep(5000),
        b"From: a\n" + b"Content-Type: message/rfc822\n\n" * 3000 + b"x",
        b"From: a\nContent-Type: text/plain" + b";a" * 400_000 + b"\n\nx",
        b"From: a\nContent-Type: text/plain;\n" + b' "";\n' * 100_000 + b"\nx",
        b"From: " + b"=?utf-8?q?" * 100_000 + b"\n\nx",
        b"From: " + b"(" * 200_000 + b"\nDate: " + b"(" * 100_000 + b"\n\nx",
        b"From: a\nReferences: " + b"<a@b> " * 100_000 + b"\n\nx",
        b"Subject: a\n" * 50_000 + b"\nx",
        b"From: a\n\n" + b"> " * 200_000,
        b"From: a\n\n" + b"> a\n\nb\n" * 20_000,
        b"From: a\n\n" + b"-- \n" * 50_000,
        b"From x 10:00\n" * 20_000,
        b"From: a\nDate: Mon, 99 Foo 99999 99:99:99 +9999\n\nx",
        b"From: a\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\n=\xff!!",
        b"From: a\nContent-Type: text/x; name*0*=%ff; name*2=x; name*=x'y'%zz\n\nx",
    ],
)
def test_a_hostile_mail_is_read_in_part_or_refused(source: bytes) -> None:
    for content in (source, b"From x Mon 10:00 2026\n" + source):
        with suppress(Unreadable):
            read(content)
        with suppress(Unreadable):
            split(content, Format.MAIL)


def test_what_is_no_mail_is_refused() -> None:
    with pytest.raises(Unreadable, match="headers"):
        read(b"Just words.")


def mutated(source: bytes, choices: random.Random) -> bytes:
    content = bytearray(source)
    for _ in range(choices.randint(1, 12)):
        start = choices.randrange(len(content))
        end = min(len(content), start + choices.randint(0, 40))
        match choices.randint(0, 3):
            case 0:
                content[start:end] = choices.randbytes(choices.randint(0, 20))
            case 1:
                del content[start:end]
            case 2:
                content[start:start] = content[start:end] * choices.randint(1, 50)
            case _:
                content[start:start] = choices.choice(PIECES)
    return bytes(content) or b"x"


PIECES: Sequence[bytes] = (
    *(
        b"\n\n",
        b"\r",
        b"\0",
        b"=?utf-8?b?4pi6?=",
        b"From a 10:00\n",
        b"Content-Type: multipart/x\n",
    ),
    *(
        b"boundary=",
        b"> ",
        b"-- \n",
        b"Content-Transfer-Encoding: x-uuencode\n",
        b"\xff\xfe",
        b"charset=utf-16",
    ),
)


def test_mutated_mails_are_documents_or_unreadable() -> None:
    mail = make_mail("Eve <e@x.example>", "Menu", "Here.\n", number=6)
    mail.add_alternative("<p>Soup", "html")
    mail.add_attachment("# Soups", subtype="markdown", filename="menu.md")
    mail.add_attachment(THREAD[0])
    choices = random.Random(7)
    for source in (mail.as_bytes(), make_mailbox([*THREAD, mail])):
        for _ in range(150):
            content = mutated(source, choices)
            try:
                document = read(content)
                split(content, Format.MAIL)
            except Unreadable:
                continue
            assert document.sections[-1].end == len(document.text)
