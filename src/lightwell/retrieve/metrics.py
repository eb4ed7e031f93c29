"""Measures the steps of a retrieval."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from lightwell.domain.evidence import Evidence, Metrics, rrf_score
from lightwell.domain.questions import GRAPH_CHANNELS, PASSAGE_CHANNELS, Channel
from lightwell.ports import Neighbourhood
from lightwell.retrieve.channels import ChannelResults

_EDGES_WALKED = {
    Channel.ENTITIES: 1,  # from what is named or described to a chunk that mentions it
    Channel.RELATIONS: 1,  # from a relation to a chunk that states it
    Channel.NEIGHBOURS: 2,  # from a chunk over what it mentions to another
    Channel.LINKS: 2,  # from what is named over a link to a chunk
}


@dataclass(slots=True)
class StepTimer:
    """The milliseconds of wall time that each stage took, and all together."""

    began: float = field(default_factory=time.perf_counter)
    started: float = 0.0
    graph: int = 0
    fusion: int = 0
    rerank: int = 0

    def __post_init__(self) -> None:
        self.started = self.began

    def lap(self) -> int:
        now = time.perf_counter()
        passed, self.started = now - self.started, now
        return round(passed * 1000)

    @property
    def total(self) -> int:
        return round((self.started - self.began) * 1000)


def make_metrics(
    clock: StepTimer,
    results: ChannelResults,
    neighbourhood: Neighbourhood,
    evidence: Sequence[Evidence],
) -> Metrics:
    """Return what a retrieval found and how long its steps took, in milliseconds."""
    dense = sorted(results.similarities.values(), reverse=True)
    by_passage = [ranks for ranks in results.ranks.values() if PASSAGE_CHANNELS & ranks.keys()]
    by_graph = [ranks for ranks in results.ranks.values() if GRAPH_CHANNELS & ranks.keys()]
    took = {channel: metrics.ms for channel, metrics in results.metrics.items()}
    return Metrics(
        vector_ms=max((took.get(channel, 0) for channel in PASSAGE_CHANNELS), default=0),
        vector_hits=len(by_passage),
        vector_top=round(dense[0], 6) if dense else 0.0,
        vector_mean=round(fmean(dense[:10]), 6) if dense else 0.0,
        graph_ms=clock.graph
        + took.get(Channel.NEIGHBOURS, 0)
        + max(took.get(channel, 0) for channel in GRAPH_CHANNELS - {Channel.NEIGHBOURS}),
        graph_hits=len(by_graph),
        graph_depth=max(
            (
                _EDGES_WALKED[channel]
                for channel in GRAPH_CHANNELS & results.metrics.keys()
                if results.metrics[channel].hits
            ),
            default=0,
        ),
        concepts=len(neighbourhood.entities),
        fusion_ms=clock.fusion,
        overlap=sum(bool(PASSAGE_CHANNELS & ranks.keys()) for ranks in by_graph),
        rrf_top=max((rrf_score(entry.ranks.values()) for entry in evidence), default=0.0),
        rerank_ms=clock.rerank,
        rerank_top=max((entry.relevance for entry in evidence), default=0.0),
        channels=results.metrics,
        total_ms=clock.total,
    )
