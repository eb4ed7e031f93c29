"""Summarises long descriptions of entities and relations by a chat model.

    joined descriptions ─ too long? ─► parts that fit a window ─ summarise each ─► joined ─ still too long? ─► ...

Each call contains the descriptions of one access class only. Its reply is cached under the class and their hash, so the model is
asked again only when they change.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from lightwell.domain.descriptions import DescriptionSummary, Summary
from lightwell.domain.errors import ModelFailed
from lightwell.domain.graph import DESCRIPTION_SEPARATOR
from lightwell.domain.ids import ClassId, ProjectId
from lightwell.domain.prompt_fencing import fence
from lightwell.logs import logger
from lightwell.ports import Message
from lightwell.records.graph import summaries
from lightwell.records.graph.profile_queue import ALL_DUE, DueProfiles
from lightwell.records.graph.summaries import LongProfile
from lightwell.records.llm_cache.cache import CachedReply, CacheType, content_hash
from lightwell.records.llm_cache.cached_model import CachedModel, ModelRequest
from lightwell.tasks import gather_or_cancel
from lightwell.text.markup import strip_active_markup
from lightwell.text.regex import regex
from lightwell.text.tokens import token_count

WINDOW_TOKENS = 6000
"""Tokens of descriptions per call; longer input is summarised part by part."""

_PROFILES_PER_BATCH = 64
_WORDS_PER_TOKEN = 0.6
_LAST_SENTENCE = regex(r"^.*[.!?。](?=\s|$)", re.DOTALL)

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarizer:
    """Summarises descriptions of more than `max_tokens`. `language` "" means the language of the descriptions."""

    model: CachedModel
    max_tokens: int
    language: str = ""
    window_tokens: int = WINDOW_TOKENS

    def messages(self, name: str, descriptions: Sequence[str]) -> list[Message]:
        """Return the messages of one call."""
        prompt = (resources.files("lightwell.ingest") / "prompts" / "summarize.md").read_text(
            "utf-8"
        )
        instructions = prompt.replace("{words}", str(int(self.max_tokens * _WORDS_PER_TOKEN)))
        instructions = instructions.replace(
            "{language}", "in " + (self.language or "the language of the lines")
        )
        lines = "\n".join(" ".join(text.split()) for text in (f"Name: {name}", *descriptions))
        return [
            Message(role="system", content=instructions.strip()),
            Message(role="user", content=fence(lines)),
        ]

    async def summarize(
        self, name: str, descriptions: Sequence[str], class_id: ClassId
    ) -> Summary | None:
        """Return the summary, or None if the model returns nothing usable; raise `ModelFailed`."""
        replies_so_far: list[CachedReply] = []
        remaining = list(descriptions)
        while True:
            parts = _parts(remaining, self.window_tokens)
            replies = await gather_or_cancel(self._ask(name, part, class_id) for part in parts)
            replies_so_far.extend(replies)
            texts = [_whole_sentences(reply) for reply in replies]
            if not all(texts):
                return None
            if len(parts) == 1:
                return Summary(
                    summary=DescriptionSummary(
                        entity_name=name,
                        original_descriptions=tuple(descriptions),
                        summarized_description=texts[0],
                        input_tokens=sum(reply.input_tokens for reply in replies_so_far),
                        output_tokens=sum(reply.output_tokens for reply in replies_so_far),
                    ),
                    replies=tuple(dict.fromkeys(reply.id for reply in replies_so_far)),
                )
            if len(parts) >= len(remaining):
                return None
            remaining = texts

    async def _ask(self, name: str, descriptions: Sequence[str], class_id: ClassId) -> CachedReply:
        messages = self.messages(name, descriptions)
        return await self.model.reply(
            ModelRequest(
                kind=CacheType.SUMMARIZATION,
                messages=messages,
                max_tokens=self.max_tokens,
                content_hash=content_hash(self.model.model.model, messages, class_id),
            )
        )


async def summarize_long_profiles(
    project_id: ProjectId, summarizer: Summarizer, due: DueProfiles = ALL_DUE
) -> None:
    """Summarise every due description of the project that is too long.

    If the model fails, the descriptions stay joined and the next call tries again.
    """
    database = summarizer.model.database
    while batch := await summaries.claim(database, project_id, limit=_PROFILES_PER_BATCH, due=due):
        try:
            await gather_or_cancel(_shorten(project_id, profile, summarizer) for profile in batch)
        except ModelFailed as error:
            _log.warning("descriptions stay long for now: a model failed", error=str(error))
            return
        finally:
            await summaries.release(database, batch)


async def _shorten(project_id: ProjectId, profile: LongProfile, summarizer: Summarizer) -> None:
    database = summarizer.model.database
    summary = None
    if token_count(profile.description) > summarizer.max_tokens:
        descriptions = profile.description.split(DESCRIPTION_SEPARATOR)
        summary = await summarizer.summarize(profile.name, descriptions, profile.class_id)
    if summary is None:
        await summaries.keep_unsummarised(database, profile)
    else:
        text = summary.summary.summarized_description
        await summaries.write(database, project_id, profile, text, summary.replies)


def _parts(descriptions: Sequence[str], window: int) -> list[list[str]]:
    """Return the descriptions in order, grouped to fit the window; a description that is too long is a group alone."""
    parts: list[list[str]] = [[]]
    room = window
    for text in descriptions:
        tokens = token_count(text) + 1
        if parts[-1] and tokens > room:
            parts.append([])
            room = window
        parts[-1].append(text)
        room -= tokens
    return parts


def _whole_sentences(reply: CachedReply) -> str:
    """Return the reply on one line; if it was cut off, only its complete sentences."""
    text = " ".join(strip_active_markup(reply.text).split())
    if reply.complete:
        return text
    match = _LAST_SENTENCE.match(text)
    return match[0] if match else ""
