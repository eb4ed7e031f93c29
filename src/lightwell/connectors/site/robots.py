"""What a site's robots.txt asks of us, as RFC 9309 reads it."""

from dataclasses import dataclass

_AGENT = "lightwell"
_MAX_CHARACTERS = 500_000
_MAX_RULES = 5_000
_MAX_DELAY = 30.0


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules for us: pairs of a pattern and whether it allows. `delay` is the seconds to wait between two requests."""

    rules: tuple[tuple[str, bool], ...] = ()
    delay: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def allows(self, target: str) -> bool:
        """Return whether a path with its query may be read: the longest pattern that matches decides, and allows where two are equal."""
        matching = [(len(rule), allowed) for rule, allowed in self.rules if _matches(rule, target)]
        return max(matching, default=(0, True))[1]


def parse_robots(text: str) -> Robots:
    """Return the rules of the groups that name us, else of those for all."""
    groups: dict[str, list[tuple[str, str]]] = {}
    sitemaps: list[str] = []
    agents: list[str] = []
    is_head = False
    for line in text[:_MAX_CHARACTERS].splitlines():
        name, _, value = line.partition("#")[0].partition(":")
        field, value = name.strip().lower(), value.strip()
        if field == "user-agent":
            agents = [*agents, value.lower()] if is_head else [value.lower()]
            is_head = True
            groups.setdefault(value.lower(), [])
        elif field == "sitemap":
            sitemaps.append(value)
        elif field in ("allow", "disallow", "crawl-delay"):
            is_head = False
            for agent in agents:
                groups[agent].append((field, value))
    ours = groups.get(_AGENT, groups.get("*", []))
    rules = [(value, field == "allow") for field, value in ours if field != "crawl-delay" and value]
    delays = [_seconds(value) for field, value in ours if field == "crawl-delay"]
    return Robots(tuple(rules[:_MAX_RULES]), max(delays, default=0.0), tuple(sitemaps))


def _seconds(text: str) -> float:
    try:
        return min(max(float(text), 0.0), _MAX_DELAY)
    except ValueError:
        return 0.0


def _matches(pattern: str, target: str) -> bool:
    """Return whether a target begins with a pattern, in which `*` is any run of characters, and `$` at the end the target's end."""
    is_whole = pattern.endswith("$")
    first, *others = pattern.removesuffix("$").split("*")
    if not target.startswith(first):
        return False
    if not others:
        return not is_whole or target == first
    place = len(first)
    for piece in others[:-1]:
        place = target.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    last = others[-1]
    if is_whole:
        return target.endswith(last) and len(target) - len(last) >= place
    return target.find(last, place) >= 0
