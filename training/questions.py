"""How people really ask: questions made from headings and sentences, and questions written carelessly."""

import random
import re

from lightwell.text.terms import STOP_WORDS

_WORD = re.compile(r"\w[\w'’.-]*")
_ASKS = re.compile(
    r"^(how|what|when|where|who|which|why|can|do|does|is|are|should|will|may|am|did|could|would|has|have)\b",
    re.I,
)
_GERUND = re.compile(r"^(\w+)ing\b", re.I)
_LED = (
    "",
    "",
    "hi, ",
    "quick question: ",
    "sorry if this is obvious but ",
    "does anyone know ",
    "i was wondering ",
    "can you tell me ",
    "remind me, ",
    "so ",
)
_CHATTY_END = ("", "", " thanks", " please", "? asking for a colleague", " again")
_VERBS = frozenset(
    """add allow apply assign attach backup block build change check choose clean configure connect contribute copy
    create customize define delete deploy disable download edit enable ensure export filter find fix format generate
    get give grant handle help hide import improve increase install invite join keep learn limit link list log maintain
    make manage map mark merge migrate modify monitor move name open order organize pause pin plan prepare prevent
    protect provide publish pull push read recover reduce register release remove rename renew replace report request
    require reset resolve restore restrict retrieve review rotate run save schedule search secure select send set share
    show sign start stop submit switch sync test track train transfer troubleshoot turn uninstall unlock update upgrade
    upload use validate verify view wait write""".split()
)


def is_question(heading: str) -> bool:
    return heading.endswith("?") or bool(_ASKS.match(heading) and len(heading.split()) > 3)


def from_heading(heading: str, above: str, chance: random.Random) -> str | None:
    """Return what somebody would ask to get to a section with this heading, None where it says too little."""
    words = heading.rstrip(":.").split()
    if not 2 <= len(words) <= 12 or not re.search(r"[a-z]{3}", heading):
        return heading if is_question(heading) else None
    if is_question(heading):
        return heading
    said = " ".join(words)
    lowered = said[0].lower() + said[1:] if not words[0].isupper() else said
    about = f" {above}" if above and chance.random() < 0.4 else ""
    first = words[0].casefold()
    if first in _VERBS:
        return chance.choice(
            (
                f"How do I {lowered}?",
                f"how to {lowered}",
                f"How can I {lowered}?",
                f"what do i do to {lowered}?",
                f"{lowered}{about}",
            )
        )
    gerund = _GERUND.match(words[0])
    if gerund and len(words[0]) > 5:
        return chance.choice(
            (
                f"How does {lowered} work?",
                f"What should I know about {lowered}?",
                f"{lowered}{about}",
                f"rules for {lowered}?",
            )
        )
    return chance.choice(
        (
            f"What is the {lowered}?",
            f"What are the {lowered}?",
            f"{lowered}{about}",
            f"{lowered}{about}?",
            f"Tell me about {lowered}{about}",
        )
    )


def careless(question: str, chance: random.Random) -> str:
    """Return the question as it is (half the time), or as keywords, misspelt, shortened, or in talk."""
    draw = chance.random()
    if draw < 0.45:
        return question
    if draw < 0.62:
        return _keywords(question, chance)
    if draw < 0.76:
        return _misspelt(question, chance)
    if draw < 0.88:
        return question.rstrip("?").lower()
    lowered = question[0].lower() + question[1:] if question[1:2].islower() else question
    return f"{chance.choice(_LED)}{lowered.rstrip('?')}{chance.choice(_CHATTY_END)}{chance.choice(('', '?'))}"


def _keywords(question: str, chance: random.Random) -> str:
    words = [word for word in _WORD.findall(question) if word.casefold() not in STOP_WORDS]
    words = [word for word in words if chance.random() > 0.12] or words
    if chance.random() < 0.2:
        chance.shuffle(words)
    return " ".join(words).lower() or question


def _misspelt(question: str, chance: random.Random) -> str:
    words = question.split(" ")
    long = [at for at, word in enumerate(words) if len(word) > 4 and word.isalpha()]
    for at in chance.sample(long, min(len(long), chance.choice((1, 1, 2)))):
        words[at] = _slip(words[at], chance)
    said = " ".join(words)
    return said.lower() if chance.random() < 0.6 else said


def _slip(word: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(word) - 1)
    match chance.randrange(4):
        case 0:
            return word[:at] + word[at + 1 :]
        case 1:
            return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        case 2:
            return word[:at] + word[at] + word[at:]
        case _:
            return word[:at] + chance.choice("abcdefghijklmnopqrstuvwxyz") + word[at + 1 :]


_TELLING = re.compile(
    r"\b\d[\d,.:%]*\b|[$€£]\s?\d|\b(?:must|may not|only|never|always|at least|at most|maximum|minimum|within|before|after)\b"
)


def from_sentence(sentence: str, chance: random.Random) -> str | None:
    """Return the words one would search for to find what this sentence says of a number or a duty."""
    telling = _TELLING.search(sentence)
    words = _WORD.findall(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", sentence))
    kept = [
        word
        for word in words
        if word.casefold() not in STOP_WORDS
        and not any(mark.isdigit() for mark in word)
        and len(word) > 2
    ]
    if telling is None or not 4 <= len(kept) <= 14:
        return None
    most = chance.randint(3, 6)
    chosen = sorted(chance.sample(range(len(kept)), min(most, len(kept))))
    said = " ".join(kept[at] for at in chosen)
    asks = "how many" if re.search(r"\d", telling[0]) else ""
    lead = chance.choice(("", "", asks, "what about", "is there a rule on"))
    return f"{lead} {said}".strip().lower() + chance.choice(("", "?"))
