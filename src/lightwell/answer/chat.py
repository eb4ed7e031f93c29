"""What a conversation needs beside answers: the messages that are carried along, and replies to greetings and thanks."""

import unicodedata
from collections.abc import Mapping, Sequence

from lightwell.domain.chat import ChatMessage, Role
from lightwell.text.tokens import token_count

MAX_REMEMBERED = 2000
"""Tokens of a conversation that are carried along."""

_PHRASES: Mapping[str, str] = {
    "Hello! Ask me about your documents.": (
        "hello|hello there|hi|hi there|hey|hey there|good morning|good afternoon|good evening|greetings"
    ),
    "You're welcome.": (
        "thanks|thanks a lot|thanks so much|thanks very much|many thanks|thank you|thank you very much|thank you so much"
        "|thx|ty|cheers|ok thanks|okay thanks|ok thank you|okay thank you|great thanks|great thank you|perfect thanks"
        "|perfect thank you|thanks for your help|thank you for your help|thanks that helps|thanks that helped"
    ),
    "Goodbye.": "bye|bye bye|goodbye|good bye|see you|see you later|good night",
    "Hallo! Fragen Sie mich nach Ihren Dokumenten.": (
        "hallo|guten tag|guten morgen|guten abend|moin|moin moin|servus|grüß gott|grüezi|grüß dich"
    ),
    "Gern geschehen.": (
        "danke|danke schön|dankeschön|danke sehr|danke dir|danke ihnen|vielen dank|besten dank|herzlichen dank|tausend dank"
        "|ok danke|okay danke|super danke|perfekt danke|danke für die hilfe|danke für deine hilfe|danke für ihre hilfe"
        "|vielen dank für die hilfe|vielen dank für ihre hilfe"
    ),
    "Auf Wiedersehen.": "tschüss|tschüß|auf wiedersehen|bis bald|bis später|gute nacht",
    "Bonjour ! Posez-moi une question sur vos documents.": "bonjour|bonsoir|salut|coucou",
    "Je vous en prie.": (
        "merci|merci beaucoup|merci bien|mille mercis|un grand merci|grand merci|ok merci|super merci|parfait merci|merci à vous"
        "|merci à toi|merci pour votre aide|merci pour ton aide|je vous remercie"
    ),
    "Au revoir.": "au revoir|à bientôt|à plus tard|bonne nuit|bonne journée",
}
_REPLIES = {
    phrase.casefold(): reply for reply, phrases in _PHRASES.items() for phrase in phrases.split("|")
}


def recent_messages(history: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Return the last messages that fit the budget, from a question on."""
    left = MAX_REMEMBERED
    kept: list[ChatMessage] = []
    for message in reversed(history):
        left -= token_count(message.content)
        if left < 0:
            break
        kept.append(message)
    while kept and kept[-1].role is not Role.USER:
        kept.pop()
    return tuple(reversed(kept))


def is_courtesy(message: str) -> bool:
    """Return whether a message of either side is a courtesy, which a later question does not refer to."""
    return message in _PHRASES or courteous_reply(message) is not None


def courteous_reply(message: str) -> str | None:
    """Return a reply in the message's language when it is one of the known courtesies, else None.

    Case, punctuation and signs such as emoji do not count.
    """
    folded = unicodedata.normalize("NFC", message).casefold()
    words = "".join(sign if sign.isalnum() else " " for sign in folded).split()
    return _REPLIES.get(" ".join(words))
