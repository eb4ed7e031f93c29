"""The topic filter. It belongs inside each query: filtering afterwards would leave fewer results than the limit."""

from typing import LiteralString


def on_topic(chunk: LiteralString) -> LiteralString:
    """Return SQL for whether the chunk is on the topic; "" matches any."""
    return f"""(%(topic)s = '' OR EXISTS (
        SELECT FROM chunk_terms AS drawn WHERE drawn.chunk_id = {chunk} AND drawn.topic_tag = %(topic)s))"""
