"""What a question and a megabyte of text cost, in counts that are the same on every machine: statements, bytes, inferences and tokens."""

from dataclasses import asdict

import pytest
from pydantic import SecretStr

from benchmarks.question_cost import STORED, Clock, counting, figures, read_and_ask
from lightwell.models import bge
from lightwell.settings import Settings
from lightwell.wiring import open_knowledge_base
from lightwell.world import DOCUMENTS, QUESTIONS

SLACK = 0.02
"""Of statements and bytes: ids are random, and so is the order of what is equal otherwise."""


async def test_questions_and_documents_cost_what_is_written_down(database_url: str) -> None:
    bge.encode_question.cache_clear()
    settings = Settings(database_url=SecretStr(database_url))
    with counting() as counts:
        async with open_knowledge_base(settings) as kb:
            questions = [question.text for question in QUESTIONS]
            report = await read_and_ask(kb, Clock(counts=counts), DOCUMENTS, questions)
    measured = figures(asdict(report))
    costs = {name: round(measured[name], 2) for name in STORED}
    expected = {
        name: pytest.approx(stored, rel=0 if name.endswith(("inferences", "tokens")) else SLACK)
        for name, stored in STORED.items()
    }
    # What costs less is written down too, or it may cost more again: `benchmarks/question_counts.toml`.
    assert costs == expected
