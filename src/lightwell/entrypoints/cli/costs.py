"""The cost of calls to models, as text and as JSON."""

from collections.abc import Callable, Mapping
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
from lightwell.entrypoints.cli.console import count_of, describe_bytes, describe_wait, fields
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
_WITHOUT_CALLS = ", and the time of calls"
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


def estimate_report(estimate: "Estimate", settings: "Settings", *, which: str) -> Report:
    """Report an estimate; `which` describes the documents, such as "new or changed"."""
    sent, written = estimate.input_tokens, estimate.output_tokens
    costs = price_of(settings).cost(sent, written)
    is_model = settings.ingestion.extraction == "model"
    calls = _WITHOUT_CALLS if is_model or settings.embedding.url is not None else ""
    rows = [
        ("documents", f"{estimate.documents:,} {which}"),
        ("unreadable", f"{estimate.unreadable:,}" if estimate.unreadable else ""),
        ("passages", f"{estimate.chunks:,}"),
        ("text", describe_bytes(estimate.text_bytes)),
        ("disk", f"about {describe_bytes(estimate.disk_bytes)}" if estimate.disk_bytes else ""),
        ("time", f"{describe_wait(estimate.seconds)} on this machine{calls}"),
    ]
    of_model = [
        ("cached", f"{estimate.cached:,} passages have a cached reply"),
        ("calls", f"about {estimate.calls:,}, including gleaning"),
        ("tokens", f"about {sent:,} sent and {written:,} written"),
        ("price", _NO_PRICE if costs is None else f"about {costs:.4f}"),
    ]
    return Report(
        document={
            "documents": estimate.documents,
            "unreadable": estimate.unreadable,
            "chunks": estimate.chunks,
            "textBytes": estimate.text_bytes,
            "diskBytes": estimate.disk_bytes,
            "seconds": round(estimate.seconds, 1),
            "kept": estimate.cached,
            "calls": estimate.calls,
            "inputTokens": sent,
            "outputTokens": written,
            "price": costs if is_model else 0.0,
        },
        text=fields([*rows, *of_model]) if is_model else Group(fields(rows), Text(_NO_MODEL)),
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
    return report_with_costs(meter, report.as_json, report.as_text(), report.code)


def budgeted_meter(
    budget: int | None = None,
    *,
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> "Meter":
    """Return a meter that stops at `budget` tokens, or at the budget of the settings; `waiting` is entered for each call."""
    from lightwell.models.meter import Meter

    return Meter(settings().ingestion.token_budget if budget is None else budget, waiting=waiting)
