"""Words that the rules about names know: those that begin a span, are no names, or tell what a name names."""

from lightwell.text.dates import ENGLISH_MONTHS, ENGLISH_MONTHS_SHORT
from lightwell.text.word_lists import load_word_lists

_LISTS = load_word_lists("lightwell.ingest.extract")
_NAMES = _LISTS["names"]
_MONTHS = frozenset((*ENGLISH_MONTHS, *ENGLISH_MONTHS_SHORT))

DETERMINERS = frozenset(_NAMES["determiners"])
PREPOSITIONS = frozenset(_NAMES["prepositions"])
NAMING_VERBS = frozenset(_NAMES["naming_verbs"])
LEADING_WORDS = frozenset(_NAMES["leading"])
MONTHS = _MONTHS.difference(_NAMES["months_too"])
NEVER_NAMES = _MONTHS.union(_NAMES["never"])
TITLES = frozenset(_NAMES["titles"])
COURTESY = TITLES.union(_NAMES["courtesy"])
OFFICES = frozenset(_NAMES["offices"])
COMPANY_SUFFIXES = frozenset(_NAMES["company_suffixes"])
SHORT_COMPANY_SUFFIXES = frozenset(_NAMES["short_company_suffixes"])
INSTITUTION_WORDS = frozenset(_NAMES["institutions"])
COARSE_PLACES = frozenset(_LISTS["places"]["coarse"])
