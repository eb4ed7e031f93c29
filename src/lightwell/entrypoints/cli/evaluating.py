"""`lightwell eval`: recognises the kind of data set, and runs its evaluation."""

from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli.evaluating_answers import evaluate_answers
from lightwell.entrypoints.cli.evaluating_passages import evaluate_passages
from lightwell.entrypoints.cli.evaluation_run import Plan
from lightwell.entrypoints.cli.execution import Report
from lightwell.evaluation.collection import is_collection

_OF_PASSAGES = "is for sets of passages (corpus.jsonl); {} is a collection of documents"


async def evaluate(plan: Plan) -> Report:
    """Measure answers on a collection of documents, retrieval on a set of passages."""
    if not is_collection(plan.folder):
        if plan.documents:
            raise Invalid("--documents is for a collection; this folder has a corpus.jsonl")
        return await evaluate_passages(plan)
    for option, given in (("--ablate", plan.ablate), ("--calibrate", plan.calibrate)):
        if given:
            raise Invalid(f"{option} {_OF_PASSAGES.format(plan.folder)}")
    return await evaluate_answers(plan)
