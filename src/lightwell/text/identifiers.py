"""Normal forms of what identifies people and companies: e-mail addresses, domains, phone numbers, names, URLs, identifiers."""

import unicodedata
from functools import cache

from publicsuffixlist import PublicSuffixList

from lightwell.text.regex import regex

FREE_MAIL = frozenset(
    """aol.com arcor.de bluewin.ch fastmail.com freenet.de gmail.com gmx.at gmx.ch gmx.com gmx.de gmx.net googlemail.com
    hey.com hotmail.co.uk hotmail.com hotmail.de hotmail.fr hushmail.com icloud.com inbox.com kolabnow.com laposte.net
    libero.it live.com live.de mac.com mail.com mail.de mail.ru mailbox.org me.com msn.com naver.com o2online.de online.de
    orange.fr outlook.com outlook.de pm.me posteo.de posteo.net proton.me protonmail.ch protonmail.com qq.com rocketmail.com
    seznam.cz t-online.de tuta.com tutanota.com tutanota.de virgilio.it vodafone.de wanadoo.fr web.de wp.pl yahoo.co.uk
    yahoo.com yahoo.de yahoo.fr yandex.com yandex.ru ymail.com zoho.com 126.com 163.com""".split()
)
"""Domains of mail providers: an address there says nothing about a company."""

_ROLES = frozenset(
    """accounting admin billing bookkeeping buchhaltung contact einkauf finance hello help hr info invoice it jobs kontakt
    mail marketing no-reply noreply office orders post press purchasing rechnung sales service support team vertrieb
    webmaster""".split()
)
_LEGAL_FORMS = frozenset(
    """ab ag aps as bv bvba co company corp corporation cv eg ek ev gbr gmbh group gruppe holding inc incorporated kft kg kgaa
    limited llc llp lp ltd mbh nv ohg oy oyj plc pte pty sa sarl sas sasu se sl spa srl sro ug""".split()
)
_SAME_FORMS = {
    "company": "co",
    "corporation": "corp",
    "incorporated": "inc",
    "limited": "ltd",
    "oyj": "oy",
    "mbh": "gmbh",
}
_FILLERS = frozenset("and und et the der die das & of".split())
_TITLES = frozenset("dr prof mr mrs ms herr frau ing dipl med".split())
_DOTTED = regex(r"\b[a-z]\.(?: ?[a-z]\.)*(?: ?[a-z]\b)?")
_WORDS = regex(r"[^\W_]+")
_EMAIL = regex(r"[^\s@<>,;]{1,64}@[^\s@<>,;]{1,255}")
_DIGITS = regex(r"\D+")
_FEWEST_DIGITS, _KEPT_DIGITS = 8, 9
_IDENTIFIER = regex(r"(?<![\w-])[A-Z][A-Z0-9]{1,9}-[1-9][0-9]{0,6}(?![\w-])")
_URL = regex(r"https?://[^\s<>\"'`|\\^{}\[\]()]{3,2000}")
_HOST_END = regex(r"[/?#:]")
_HOST = regex(r"[\w.-]{1,253}")
_UMLAUTS = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "oe", "æ": "ae", "å": "aa"}


def fold_letters(text: str) -> str:
    """Return the text in small Latin letters without marks: `Müller` becomes `mueller`."""
    composed = unicodedata.normalize("NFC", text.casefold())
    spelled = "".join(_UMLAUTS.get(letter, letter) for letter in composed)
    parts = unicodedata.normalize("NFKD", spelled)
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


def find_emails(text: str) -> tuple[str, ...]:
    """Return the e-mail addresses in an attribute, in small letters."""
    addresses = (address.lower().strip(".") for address in _EMAIL.findall(text))
    return tuple(dict.fromkeys(addresses))


def is_role_address(email: str) -> bool:
    """Return whether the address belongs to a function, as `info@` does, and to no person."""
    return email.partition("@")[0] in _ROLES


def registrable_domain(text: str) -> str:
    """Return the registrable part of a domain, host or URL: `nordwind.co.uk` for `https://www.nordwind.co.uk/a`; "" if none."""
    bare = text.strip().lower().rpartition("://")[2]
    host = _HOST_END.split(bare, maxsplit=1)[0].rpartition("@")[2]
    if not _HOST.fullmatch(host):
        return ""
    return _suffixes().privatesuffix(host.strip(".")) or ""


def company_domain(email_or_domain: str) -> str:
    """Return the registrable domain if it can be that of a company, "" for a mail provider's."""
    domain = registrable_domain(email_or_domain.rpartition("@")[2])
    return "" if domain in FREE_MAIL else domain


def phone_key(text: str) -> str:
    """Return the last nine digits of a phone number, "" if it has fewer than eight.

    The country's prefix and the leading zero of a national number differ between systems; the rest does not.
    """
    digits = _DIGITS.sub("", text.partition("ext")[0].replace("(0)", ""))
    return digits[-_KEPT_DIGITS:] if len(digits.lstrip("0")) >= _FEWEST_DIGITS else ""


def company_words(name: str) -> tuple[str, ...]:
    """Return the words of a company's name without its legal form: `("nordwind", "energie")`."""
    words = _name_words(name)
    core = tuple(word for word in words if word not in _LEGAL_FORMS and word not in _FILLERS)
    return core or tuple(words)


def legal_form(name: str) -> str:
    """Return the last legal form in a company's name, `gmbh` or `inc`; "" if there is none."""
    forms = [
        word for word in _name_words(name) if word in _LEGAL_FORMS - {"group", "gruppe", "holding"}
    ]
    return _SAME_FORMS.get(forms[-1], forms[-1]) if forms else ""


def person_words(name: str) -> tuple[str, ...]:
    """Return the words of a person's name in the order first name, last name; `Schmidt, Anna` is turned around."""
    last, comma, first = name.partition(",")
    words = _name_words(f"{first} {last}" if comma and first.strip() else name)
    return tuple(word for word in words if word not in _TITLES)


def find_identifiers(text: str) -> tuple[str, ...]:
    """Return identifiers such as `ENG-12` in the text, in order of appearance."""
    return tuple(dict.fromkeys(_IDENTIFIER.findall(text)))


def identifier_key(name: str) -> str:
    """Return a name that is an identifier as `find_identifiers` finds it, also its normalised form `eng 12`; else ""."""
    written = name.strip(" :").upper().replace(" ", "-")
    return written if _IDENTIFIER.fullmatch(written) else ""


def find_urls(text: str) -> tuple[str, ...]:
    """Return the web addresses in the text as `url_key` forms them."""
    return tuple(dict.fromkeys(url_key(url) for url in _URL.findall(text)))


def url_key(url: str) -> str:
    """Return a URL without scheme, query, fragment and closing punctuation, its host in small letters."""
    bare = url.strip().partition("://")[2].partition("#")[0].partition("?")[0]
    host, slash, path = bare.partition("/")
    return (host.lower() + slash + path).rstrip("/.,;:!*_")


def _name_words(name: str) -> list[str]:
    folded = _DOTTED.sub(
        lambda match: match[0].replace(".", "").replace(" ", ""), fold_letters(name)
    )
    return _WORDS.findall(folded)


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()
