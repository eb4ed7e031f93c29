"""What a chat model is asked: its rules, and the question with numbered passages as data that it must not obey."""

from enum import StrEnum
from importlib import resources

from lightwell.answer.context import Context, entity_line, passage_text, relation_line
from lightwell.domain.fences import fence
from lightwell.ports import Message


class VerifyBy(StrEnum):
    """Who verifies a model's sentences: rules alone, or rules and then the chat model as a second judge."""

    RULES = "rules"
    MODEL = "model"


class Prompt(StrEnum):
    """What a model is asked for; each is a file in `prompts/`."""

    ANSWER = "answer"
    STATEMENTS = "statements"
    BYPASS = "bypass"
    VERIFY = "verify"

    @property
    def text(self) -> str:
        home = resources.files("lightwell.answer") / "prompts" / f"{self.value}.md"
        return home.read_text("utf-8")


def build_messages(
    question: str, context: Context, prompt: Prompt = Prompt.ANSWER
) -> list[Message]:
    """Return what the model is sent: background that cannot be cited, passages numbered from 1, the question."""
    background = "\n".join(
        (*map(entity_line, context.entities), *map(relation_line, context.relations))
    )
    blocks = [
        f"[{number}]\n{fence(passage_text(each))}"
        for number, each in enumerate(context.passages, 1)
    ]
    parts = [f"Background:\n\n{fence(background)}"] if background else []
    parts.extend(("Evidence:\n\n" + "\n\n".join(blocks), f"Question: {question}"))
    return [
        Message(role="system", content=prompt.text),
        Message(role="user", content="\n\n".join(parts)),
    ]
