"""The cost of calls to models, as text and as JSON."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from lightwell.domain.usage import (
    NO_USAGE,
    OperationType,
    Price,
    TokenSummary,
    summarize_usage,
)
from lightwell.entrypoints.cli.console import count_of, fields
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.store import settings
from lightwell.entrypoints.operations.citations import Usage

if TYPE_CHECKING:
    from lightwell.ingest.estimate import Estimate
    from lightwell.models.meter import Meter
    from lightwell.settings import Settings

_NO_MODEL = (
    "Rules extract the graph, which costs nothing (LIGHTWELL_EXTRACTION=model uses the chat model)."
)
_CPU_SECONDS_PER_PASSAGE = 0.25
"""Measured with the bundled models on one core, the database server included (32 pages of docs/, 2,300 characters a passage)."""
_NO_PRICE = "unknown: set LIGHTWELL_CHAT_PRICE_INPUT and LIGHTWELL_CHAT_PRICE_OUTPUT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """The cost of a command's calls; `price` covers the chat model's tokens, None if it is unknown."""

    summary: TokenSummary
    price: float | None

    def document(self) -> Mapping[str, object]:
        """Return the cost as JSON."""
        usage = Usage.model_validate(self.summary).to_document()
        return {**usage, "price": self.price}

    def lines(self) -> list[Text]:
        """Return the cost as one line of text, or no line if no endpoint was called."""
        return [Text(self.text(), style="dim")] if self.summary.calls else []

    def text(self) -> str:
        """Return the cost as one line of text."""
        spent = self.summary
        return (
            f"{count_of(spent.calls, 'model call')}: {spent.total_input_tokens:,} tokens sent, "
            f"{spent.total_output_tokens:,} written" + (f", {self.price:.4f}" if self.price else "")
        )


def price_of(settings: "Settings") -> Price:
    """Return what the chat model costs."""
    return Price(input=settings.chat.price_input, output=settings.chat.price_output)


NOTHING = Costs(summary=NO_USAGE, price=None)


def estimate_report(estimates: "Sequence[Estimate]", settings: "Settings", *, which: str) -> Report:
    """Report the sum of the estimates; `which` describes the documents, such as "new or changed"."""
    sent = sum(estimate.input_tokens for estimate in estimates)
    written = sum(estimate.output_tokens for estimate in estimates)
    costs = price_of(settings).cost(sent, written)
    seconds = _CPU_SECONDS_PER_PASSAGE * sum(estimate.chunks for estimate in estimates)
    minutes = max(1, round(seconds / 60))  # machines and documents differ
    per_passage = f"{_CPU_SECONDS_PER_PASSAGE:.2f} s a passage, as measured on one machine"
    counts = {
        "documents": sum(estimate.documents for estimate in estimates),
        "unreadable": sum(estimate.unreadable for estimate in estimates),
        "chunks": sum(estimate.chunks for estimate in estimates),
        "kept": sum(estimate.cached for estimate in estimates),
        "calls": sum(estimate.calls for estimate in estimates),
        "inputTokens": sent,
        "outputTokens": written,
    }
    rows = [
        ("documents", f"{counts['documents']:,} {which}"),
        ("unreadable", f"{counts['unreadable']:,}" if counts["unreadable"] else ""),
        ("passages", f"{counts['chunks']:,}"),
        ("time", f"about {count_of(minutes, 'minute')} of processor ({per_passage})"),
    ]
    calls = [
        ("cached", f"{counts['kept']:,} passages have a cached reply"),
        ("calls", f"about {counts['calls']:,}, including gleaning"),
        ("tokens", f"about {sent:,} sent and {written:,} written"),
        ("price", _NO_PRICE if costs is None else f"about {costs:.4f}"),
    ]
    is_model = settings.ingestion.extraction == "model"
    return Report(
        document={**counts, "cpuSeconds": seconds, "price": costs if is_model else 0.0},
        text=fields([*rows, *calls]) if is_model else Group(fields(rows), Text(_NO_MODEL)),
    )


def costs_of(meter: "Meter") -> Costs:
    """Return what the calls that this meter saw cost; embeddings and reranking have other prices, which no setting names."""
    chosen = settings()
    by_chat = summarize_usage(
        usage
        for usage in meter.usages
        if usage.operation_type is not OperationType.RERANK
        and usage.model_name != chosen.embedding.model
    )
    price = price_of(chosen).cost(by_chat.total_input_tokens, by_chat.total_output_tokens)
    return Costs(summary=summarize_usage(meter.usages), price=price)


def report_with_costs(
    meter: "Meter",
    document: Mapping[str, object] | Callable[[], Mapping[str, object]],
    text: RenderableType,
    code: Exit = Exit.FINE,
) -> Report:
    """Return a report with the costs: as `usage` in JSON, as a last line in text."""
    paid = costs_of(meter)
    plain = Report(document=document, text=text)
    return Report(
        document=lambda: {**plain.as_json(), "usage": paid.document()},
        text=Group(text, *paid.lines()),
        code=code,
    )


def with_costs(report: Report, meter: "Meter | None") -> Report:
    """Return a report with what the calls of this meter cost, where it saw any: as `usage` in JSON, as a last line in text."""
    if meter is None or not meter.usages or report.printed:
        return report
    return report_with_costs(meter, report.as_json, report.text, report.code)


def budgeted_meter(
    budget: int | None = None,
    *,
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> "Meter":
    """Return a meter that stops at `budget` tokens, or at the budget of the settings; `waiting` is entered for each call."""
    from lightwell.models.meter import Meter

    return Meter(settings().ingestion.token_budget if budget is None else budget, waiting=waiting)
