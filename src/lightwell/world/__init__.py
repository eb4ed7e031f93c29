"""A made-up company, Halden Instruments, with its papers, three of its people and what they ask.

The tests, the README, `lightwell demo` and the benchmarks all live in this one world.
"""

from pathlib import Path

from lightwell.world.people import PEOPLE, Person
from lightwell.world.questions import DEMO, QUESTIONS, Place, Question

DOCUMENTS = Path(__file__).parent / "documents"
"""The folder to read; its `.lightwell.yaml` files say who may see what."""

__all__ = ["DEMO", "DOCUMENTS", "PEOPLE", "QUESTIONS", "Person", "Place", "Question"]
