"""The file `.env`: settings are written into it without changing its other lines, and only its owner may read it."""

from collections.abc import Mapping
from pathlib import Path

from lightwell.domain.errors import Invalid
from lightwell.ownership import reason_to_distrust, replace_for_owner
from lightwell.text.regex import regex

_LINE = regex(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=")
_PLAIN = regex(r"[\w:/.,@%+=~-]+")
_UNSAFE = regex(r"['\\]|\$\{")


def write_settings(values: Mapping[str, str], folder: Path) -> Path:
    """Write variables into the `.env` of a folder and return its path; "" removes a variable.

    A variable that is set there is replaced in its place; the new file takes the old one's place at once. Raises `Invalid` for a value
    that no line can hold, and for a file that others could change.
    """
    path = (folder / ".env").resolve()
    lines: list[str] = []
    if path.exists():
        if not path.is_file():
            raise Invalid(f"{path} is no file")
        if reason := reason_to_distrust(path.stat()):
            raise Invalid(f"{path} {reason}: make it yours first (`chown`, `chmod go-w`)")
        text = path.read_text("utf-8").removesuffix("\n")
        lines = text.split("\n") if text else []
    wanted = {name: _line(name, value) for name, value in values.items()}
    kept: list[str] = []
    for line in lines:
        match = _LINE.match(line)
        name = match[1].upper() if match else ""
        if name not in wanted:
            kept.append(line)
        elif replacement := wanted[name]:
            kept.append(replacement)
            wanted[name] = ""
    kept += filter(None, wanted.values())
    replace_for_owner(path, "".join(f"{line}\n" for line in kept))
    return path


def _line(name: str, value: str) -> str:
    if not value:
        return ""
    if _UNSAFE.search(value) or not value.isprintable():
        raise Invalid(
            f"The value of {name} has signs that .env cannot hold; set it in the environment"
        )
    return f"{name}={value}" if _PLAIN.fullmatch(value) else f"{name}='{value}'"
