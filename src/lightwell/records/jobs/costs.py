"""What the extraction of a job's document cost, and what of it fitted no predicate."""

from collections.abc import Mapping

from lightwell.domain.ids import JobId
from lightwell.domain.usage import TokenSummary
from lightwell.records.database import Connection, Database

_ADD_USAGE = """
UPDATE ingestion_jobs
SET model_calls = model_calls + spent.calls, input_tokens = input_tokens + spent.input,
    output_tokens = output_tokens + spent.output
FROM unnest(%(jobs)s::uuid[], %(calls)s::integer[], %(inputs)s::bigint[], %(outputs)s::bigint[])
    AS spent (id, calls, input, output)
WHERE ingestion_jobs.id = spent.id
"""

_RECORD_UNKNOWN = """
UPDATE ingestion_jobs SET unknown_predicates = given.relations
FROM unnest(%(jobs)s::uuid[], %(relations)s::integer[]) AS given (id, relations)
WHERE ingestion_jobs.id = given.id
"""


async def add_usage(database: Database, usage_by_job: Mapping[JobId, TokenSummary]) -> None:
    """Add these calls of models to what each job has cost."""
    jobs = sorted(job for job, usage in usage_by_job.items() if usage.calls)
    if not jobs:
        return
    spent = [usage_by_job[job] for job in jobs]
    await database.execute(
        _ADD_USAGE,
        {
            "jobs": jobs,
            "calls": [each.calls for each in spent],
            "inputs": [each.total_input_tokens for each in spent],
            "outputs": [each.total_output_tokens for each in spent],
        },
    )


async def record_unknown_predicates(connection: Connection, counts: Mapping[JobId, int]) -> None:
    """Record for each job how many relations became RELATED_TO because their predicate is not in the list."""
    await connection.execute(
        _RECORD_UNKNOWN, {"jobs": list(counts), "relations": list(counts.values())}
    )
