"""A chat model as the second judge of a sentence that the rules have accepted: do the cited passages say it?"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum

from lightwell.domain.prompt_fencing import fence
from lightwell.ports import ChatModel, Message
from lightwell.text.regex import regex

MAX_VERDICT_TOKENS = 200

VERDICT_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"supported": {"type": "boolean"}},
    "required": ["supported"],
    "additionalProperties": False,
}

_VERDICT = regex(r'"supported"\s{0,9}:\s{0,9}"?(true|false)', re.IGNORECASE)


class VerifyBy(StrEnum):
    """Who verifies a model's sentences: rules alone, or rules and then the chat model as a second judge."""

    RULES = "rules"
    MODEL = "model"


async def is_supported(
    model: ChatModel, rules: str, statement: str, passages: Sequence[str]
) -> bool:
    """Return whether the model finds that the passages support the statement; an unclear verdict counts as no.

    `rules` is the system message. Raises `ModelFailed`.
    """
    evidence = "\n\n".join(fence(passage) for passage in dict.fromkeys(passages))
    messages = [
        Message(role="system", content=rules),
        Message(
            role="user", content=f"Evidence:\n\n{evidence}\n\nStatement:\n\n{fence(statement)}"
        ),
    ]
    reply = await model.reply(messages, max_tokens=MAX_VERDICT_TOKENS, schema=VERDICT_SCHEMA)
    verdicts = {verdict.casefold() for verdict in _VERDICT.findall(reply.text)}
    return verdicts == {"true"}
