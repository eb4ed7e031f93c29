"""Ids of messages and presses as the core keeps them: Telegram's number, `alone.<account>.<number>` for what one account alone sees, `press.<id>`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MessageId:
    """A message in a chat. `receiver` is the account that alone sees it, None for a message that all see."""

    number: int
    receiver: int | None = None

    @classmethod
    def parse(cls, text: str) -> "MessageId | None":
        """Return the id; None for what is none."""
        match text.split("."):
            case [number] if _is_number(number):
                return cls(int(number))
            case ["alone", receiver, number] if _is_number(receiver) and _is_number(number):
                return cls(int(number), int(receiver))
            case _:
                return None


def alone_id(account: str, number: int) -> str:
    """Return the id of a message that one account alone sees."""
    return f"alone.{account}.{number}"


def press_handle(query: str) -> str:
    """Return by what the core answers a press."""
    return f"press.{query}"


def press_id(handle: str) -> str:
    """Return Telegram's id of the press with this handle, "" where it is none."""
    return handle.removeprefix("press.") if handle.startswith("press.") else ""


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20
