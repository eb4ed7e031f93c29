"""How much a sentence looks like an instruction to the machine that reads it: signals, and a weight for each.

A sentence may name machines ("the assistant must cite its sources") or give orders ("never mention the price") and mean people. Only
several signals together tell, so each has a weight, and another one beside the name of a machine. The weights are fitted by
`python benchmarks/fit_injection.py --write` (logistic regression). Words are English, German, French and Spanish.
"""

import math
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from lightwell.text.sentences import split_sentences

WEIGHTS = Path(__file__).with_name("instruction_weights.toml")

MACHINE = "machine"
_ANSWER = r"(?:answer|repl(?:y|ie)|response|completion|output|summar(?:y|ie)|overview|message|citation|antwort|réponse|respuesta|résumé|zusammenfassung)\w{0,3}"
_YOURS = r"(?:your|deine?[rnms]?|ihre?[rnms]?|eure?[rnms]?|ta|tes|ton|vos|votre|tus?|sus?)"
_VERB = (
    r"(?:answer|reply|respond|say|tell|write|print|output|append|add|include|insert|attach|end|finish|start|begin|repeat|act|pretend|imagine|behave|play|use|call|open|run|execute|fetch"
    r"|retrieve|rank|rate|recommend|suggest|describe|claim|state|name|refuse|decline|hide|keep|reveal|show|send|forward|mail|praise|inform|report|treat|drop|switch|become|leave|omit|skip"
    r"|quote|cite|mention|translate|summari[sz]e|replace|render|encode|dump|list|give|confirm|approve|assume|classify|prefer|follow|obey|comply|stop|erase|do\s+not|don['’]t|never|always|only"
    r"|sag\w*|antworte\w*|gib|geben|nenne?\w*|zeige?\w*|schreib\w*|erwähn\w*|empfiehl|behaupte\w*|beende\w*|kodiere|folge|befolge|bewerte\w*|frage?|teile?"
    r"|dis|dites|réponds|répondez|affiche|ajoute|termine\w*|recommande\w*|affirmez|cite\w*|di|diga|responde|muestra|recomienda|añade|menciones)"
)

_SIGNALS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        MACHINE: r"\b(?:ais?|a\.i\.|kis?|ki-\w+|ias?|llms?|gpts?|chatgpt|copilot|claude|gemini|chat\s?bots?|bots?|(?:language\s+)?models?|sprachmodell\w*|assistants?|\w{0,20}assistent\w*|asistentes?"
        r"|summari[sz]ers?|(?:text\s+)?generators?|machines?|machine\s+readers?|automated\s+(?:agents?|readers?|systems?|tools?)|intelligence\s+artificielle|inteligencia\s+artificial|künstliche\s+intelligenz|mod[eè]les?|modelos?"
        r"|robots?|agents?|crawlers?|maschine\w*|answering\s+engine|screening\s+\w+)\b",
        "plain machine": r"\b(?:ais?|kis?|ia|llms?|gpts?|chatgpt|chat\s?bots?|language\s+models?|sprachmodell\w*|intelligence\s+artificielle|inteligencia\s+artificial|künstliche\s+intelligenz)\b",
        "called": r"(?:^|[,;:!–—]\s|\b(?:dear|hello|hi|hey|liebe[rs]?|ch[eè]re?|querid[oa]|kind|attention)\s)(?:[\w'’-]+\s){0,2}?(?:ais?|ki|ia|llms?|gpt|chatgpt|copilot|chat\s?bot|bot|model|assistant|agent|language\s+models?"
        r"|assistent|robot|maschine|generators?|assistants?|readers?)(?:[\s-]\w+){0,4}\s?(?:[,:.!?–—]|$)",
        "reads": r"\b(?:that|which|who|if|should|any|every|whoever|whatever|all|die|das|qui|que)\b[^.]{0,40}?\b(?:read|process|ingest|summari[sz]|generat|screen|answering|drafts?|mitles|lies|lis|lee)\w*",
        "your rules": rf"\b{_YOURS}\s+(?:\w+\s+){{0,2}}?(?:instructions?|rules?|prompts?|guidelines|guardrails|context|memory|operators?|developers?|administrators?|persona|identity|restrictions?|task|behaviou?r|filters?|polic(?:y|ies)|anweisung\w*|regeln|betreiber\w*|vorgaben|instrucciones|consignes)\b",
        "told": r"\b(?:you\s+(?:were|are|have\s+been|had\s+been)\s+(?:told|given|instructed|trained|asked)|(?:built|trained|made|gave|operate)\s+you|ton\s+opérateur|dir\s+dein)\b",
        "your answer": rf"\b(?:{_YOURS}|each|every|any|all|jede\w*|chaque|toutes|todas)\s+(?:\w+\s+){{0,2}}?{_ANSWER}\b",
        "user": r"\b(?:the|a|your|each|every|any)\s+(?:next\s+|last\s+)?(?:users?|visitors?|readers?)\b|\bnutzer\w*|\butilisateurs?\b|\busuarios?\b|\bwho(?:ever)?\s+(?:asks|is\s+(?:asking|querying))\b",
        "asks": r"\b(?:when(?:ever)?|if|should|wenn|falls|si|cuando)\b[^.,]{0,60}?\b(?:asks?|asked|wants?\s+to\s+know|question|fragt|demande|pregunt\w*)\b",
        "prompt": r"\b(?:system|initial|hidden|secret|developer)\W?(?:prompts?|message|instructions|rules)\b|systemprompt|prompt\s+système|mensaje\s+de\s+sistema",
        "override": r"\b(?:ignor\w*|disregard|forget|override\w*|bypass|abandon|erase|supersede\w*|lift(?:ed)?|switched\s+off|set\s+aside|cancell?ed|void|take\s+priority|no\s+longer|vergiss|missachte\w*|oublie\w*|olvida|overlook)\b",
        "rules": r"\b(?:instructions?|directives?|guardrails?|safeguards?|guidelines|restrictions?|content\s+polic\w+|safety\s+\w+|filters?|anweisungen|vorgaben|consignes|instrucciones)\b",
        "order": rf"(?:^|[:,;.!–—>]\s*)(?:please\s+|also\s+|and\s+|then\s+|so\s+|bitte\s+){{0,2}}{_VERB}\b",
        "must": r"\b(?:must|shall|should|ha(?:s|ve)\s+to|(?:is|are)\s+(?:to|required|asked|authori[sz]ed|instructed|requested|supposed)|may\s+not|soll\w*|muss|müssen|d[aü]rf\w*|doi(?:t|vent)|deben?)\b",
        "here": r"\b(?:this|these|here|above|below|diese\w*|hier|cette|ces?|est[aeo]s?)\b",
        "frame": r"<\|\w{2,20}\|>|</?(?:system|instructions?|context|documents?|docs?|retrieved_\w{1,20}|search_results|start_of_turn)>|\[/?(?:inst|system)\]|###|<<sys>>|\"role\"|<!--|---\s*end|\b(?:system|user|human)\s*:",
        "henceforth": r"\b(?:from\s+now\s+on|henceforth|no\s+longer|any\s?more|as\s+of\s+this|ab\s+sofort|ab\s+jetzt|désormais|a\s+partir\s+de\s+ahora)\b",
        "you are": r"\b(?:you\s+are|you['’]re|du\s+bist|tu\s+es|vous\s+êtes|eres)\b",
        "you": r"\b(?:you|yourself|du|dich|dir|vous|toi|tu|te)\b",
        "web address": r"https?://|!\[|\bbase64\b",
        "call": r"\b(?:tool|function|plugin|\w+_\w+|api)\b",
        "courtesy": r"\b(?:would\s+you|could\s+you|be\s+so\s+kind|thank\s+you|humbly|delighted|favou?r|merci\s+de|sería\w*|freundlich)\b",
        "mentioned": r"^[^\"“„«]*[\"“„«].{3,}[\"”“»]",  # from the first mark on, so that many marks cost no more than one
        "people": r"\b(?:customers?|callers?|employees?|staff|teams?|colleagues?|managers?|kunden?|clients?|guests?|mitarbeit\w*|patients?|students?|members?)\b",
        "about": r"\b(?:our|its|their|the|a|an|unser\w*|notre|nuestr[oa])\s+(?:\w+\s+)?(?:assistant|bot|chat\s?bot|model|agent)s?\b",
    }.items()
}


_DECISIVE = re.compile(
    "|".join(
        _SIGNALS[name].pattern
        for name in (MACHINE, "told", "your rules", "your answer", "user", "prompt", "frame")
    ),
    re.IGNORECASE,
)
"""Without one of these no other signals suffice: most sentences need no further look."""


def signals(sentence: str) -> list[float]:
    """Return the signals of a sentence, on one line, and then the same where it names a machine, else 0."""
    found = [float(pattern.search(sentence) is not None) for pattern in _SIGNALS.values()]
    return [*found, *(found[0] * each for each in found[1:])]


def signal_names() -> list[str]:
    """Return what each of `signals` is called."""
    return [*_SIGNALS, *(f"{MACHINE} and {name}" for name in list(_SIGNALS)[1:])]


def contains_instruction(text: str) -> bool:
    """Return whether a sentence of a text, on one line, probably tells the machine that reads it what to do or to say."""
    if _DECISIVE.search(text) is None:
        return False
    return any(_DECISIVE.search(each) and _weigh(each) > 0.0 for each in split_sentences(text))


def _weigh(sentence: str) -> float:
    base, weights = load_weights()
    return base + sum(map(math.prod, zip(weights, signals(sentence), strict=True)))


@cache
def load_weights() -> tuple[float, tuple[float, ...]]:
    """Return the base, from which the threshold is subtracted already, and the weight of each signal."""
    page = tomllib.loads(WEIGHTS.read_text(encoding="utf-8"))
    return float(page["base"]), tuple(float(page["weights"][name]) for name in signal_names())
