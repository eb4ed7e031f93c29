"""Regular expressions that are compiled when they are first used: a command uses few of the hundreds that its modules name."""

import re
from functools import cached_property
from typing import cast


class LatePattern:
    """Stands for a compiled pattern, and is compiled when it is first asked for anything but its text and flags.

    What it was asked for stays as an attribute: from then on a use costs what one of the pattern itself does.
    """

    def __init__(self, pattern: str, flags: re.RegexFlag | int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):  # asked for while a copy is made, which has no text yet
            raise AttributeError(name)
        value = getattr(self.compiled, name)
        setattr(self, name, value)
        return value

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The pattern; raises `re.error` where the text is none."""
        return re.compile(self.pattern, self._flags)


def regex(pattern: str, flags: re.RegexFlag | int = 0) -> re.Pattern[str]:
    """Return the pattern of a text, not compiled yet: what is wrong with the text is found at its first use, and by a test of all."""
    return cast("re.Pattern[str]", LatePattern(pattern, flags))
