"""A question on one topic draws no other chunk: what is left out later would have taken the place of what is sought."""

from typing import LiteralString

ON_TOPIC: LiteralString = """(%(topic)s = '' OR EXISTS (
        SELECT FROM chunk_terms AS drawn WHERE drawn.chunk_id = {chunk} AND drawn.topic_tag = %(topic)s))"""
"""Whether the chunk whose id is `{chunk}` is on the topic, "" for any."""
