"""One description of several, by a model: the prompt it is sent, and how its reply is taken."""

from collections.abc import Sequence
from importlib import resources

from lightwell.domain.errors import ModelFailed
from lightwell.domain.tokens import token_count
from lightwell.ports import ChatModel, Message

_MOST_INPUT, _MOST_OUTPUT = 6000, 400
"""Tokens."""

_FENCE = "<<<>>>"


async def summary(model: ChatModel, name: str, descriptions: Sequence[str]) -> str:
    """Return one description of what these describe, in rounds when they are long; raise `ModelFailed`."""
    while True:
        rounds = [await _reply(model, messages(name, group)) for group in _groups(descriptions)]
        if len(rounds) == 1:
            return rounds[0]
        descriptions = rounds


def messages(name: str, descriptions: Sequence[str]) -> list[Message]:
    """Return what the model is sent."""
    rules = (resources.files("lightwell.curate") / "prompts" / "merge.md").read_text("utf-8")
    blocks = "\n".join(f"{_FENCE}\n{text.replace(_FENCE, ' ')}\n{_FENCE}" for text in descriptions)
    return [
        Message(role="system", content=rules),
        Message(role="user", content=f"Name: {name}\n\n{blocks}"),
    ]


async def _reply(model: ChatModel, sent: Sequence[Message]) -> str:
    reply = await model.reply(sent, most_tokens=_MOST_OUTPUT)
    text = " ".join(reply.text.split())
    if not text or not reply.complete:
        raise ModelFailed(f"{model.model} gave no whole description; nothing was merged")
    return text


def _groups(descriptions: Sequence[str]) -> list[list[str]]:
    """Cut the descriptions into groups of at most 6000 tokens, two or more in each but the last."""
    groups: list[list[str]] = [[]]
    size = 0
    for text in descriptions:
        tokens = token_count(text)
        if size + tokens > _MOST_INPUT and len(groups[-1]) > 1:
            groups.append([])
            size = 0
        groups[-1].append(text)
        size += tokens
    return groups
