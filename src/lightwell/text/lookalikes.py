"""Normalisation of look-alike letters and invisible characters: the text as a person reads it."""

import unicodedata

_LOOKALIKES = {
    "cyrillic small": ("авсеһіјкмнорѕтухԁԛԝьѵ", "abcehijkmhopstyxdqwbv"),
    "cyrillic capital": ("АВСЕНІЈКМОРЅТУХԚԜ", "ABCEHIJKMOPSTYXQW"),
    "greek small": ("αεικνορτυχγ", "aeiknoptuxy"),
    "greek capital": ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX"),
    "armenian": ("օսոհցԼ", "ouhhgL"),
    "latin": ("ıɑɡɩʟɴʀꞮ", "iagiLNRI"),
}
_INVISIBLE = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_FOLDED = str.maketrans(
    {
        **{
            own: other
            for ours, theirs in _LOOKALIKES.values()
            for own, other in zip(ours, theirs, strict=True)
        },
        **dict.fromkeys(_INVISIBLE, ""),
    }
)


def normalize_lookalikes(text: str) -> str:
    """Return the text in NFKC without format characters, with Cyrillic, Greek and other look-alikes as Latin
    letters.

    Use it only to search for Latin words: Russian or Greek words become nonsense.
    """
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFKC", text)
    visible = (sign for sign in composed if not _is_invisible(sign))
    return "".join(visible).translate(_FOLDED)


def _is_invisible(sign: str) -> bool:
    return unicodedata.category(sign) == "Cf" or "\ufe00" <= sign <= "\ufe0f"
