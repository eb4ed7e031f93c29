"""Words that the rules about names know: those that begin a span, are no names, or tell what a name names."""

from lightwell.text.dates import ENGLISH_MONTHS, ENGLISH_MONTHS_SHORT

DETERMINERS = frozenset(
    "a an the this that these those any each every some no another our your their his her its my".split()
)
PREPOSITIONS = frozenset("in on via with from using by into through of for at to".split())
NAMING_VERBS = frozenset(
    "called named met phoned emailed contacted asked told thanked invited interviewed hired".split()
)
"""What follows them without an article is a name: verbs that call something by its name, or have a person as object."""
LEADING_WORDS = frozenset(
    """a an the this that these those some any each every in on at by for from with without of to as into onto upon
    via per after before during since until till while when where whereas who whom whose which what why how if
    unless although though because and or but nor so yet then thus hence however therefore moreover furthermore
    meanwhile nevertheless also besides instead indeed he she it they we you i his her its their our your my here
    there is are was were be been do does did has have had can could should would might must let let's lets not
    now just even still often later earlier recently currently today originally initially eventually finally
    previously subsequently according despite unlike including among between within through throughout against
    about around along near across hey hi hello dear thanks thank yes yeah yep ok okay sure please sorry wow oh ah
    haha lol well maybe see ask tell i'm i'll i've i'd it's he's she's that's we're they're you're""".split()
)
MONTHS = frozenset((*ENGLISH_MONTHS, *ENGLISH_MONTHS_SHORT)) - frozenset(
    "may march mar jan august".split()
)
"""Months that are no first names or other words."""

NEVER_NAMES = frozenset((*ENGLISH_MONTHS, *ENGLISH_MONTHS_SHORT)) | frozenset(
    """sept monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri
    sat sun am pm bc ad bce ce ok lol omg btw fyi imo tbd todo n/a na etc eg ie mr mrs ms dr st jr sr no vol i ii iii
    iv vi vii viii ix xi xii me my mine myself him himself herself us ours ourselves them themselves yourself god
    tonight tomorrow yesterday new id ids ip url urls ui pr prs faq faqs pdf""".split()
)
TITLES = frozenset("mr mrs ms dr prof professor herr frau herrn monsieur madame".split())
"""These announce a person even before a single word; other courtesy titles need two or more words."""
COURTESY = TITLES | frozenset("miss rev reverend sir madam dame hon".split())
OFFICES = frozenset(
    """president senator governor chancellor colonel lieutenant sergeant congressman congresswoman mayor
    minister secretary chairman chairwoman ceo cto cfo""".split()
)
COMPANY_SUFFIXES = frozenset(
    "inc ltd llc llp gmbh corp plc ag kg bv nv oy ab sarl srl spa limited corporation incorporated".split()
)
SHORT_COMPANY_SUFFIXES = frozenset("AS ASA SA SAS SE ApS Oyj SpA".split())
INSTITUTION_WORDS = frozenset(
    """university college institute ministry department association society company foundation committee council
    commission agency bureau bank records party museum""".split()
)
