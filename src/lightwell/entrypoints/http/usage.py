"""What models cost, as headers of a response."""

from fastapi import Response

from lightwell.domain.usage import TokenSummary


def add_usage_headers(response: Response, usage: TokenSummary) -> None:
    """Say what models cost, where one was called."""
    if usage.calls:
        response.headers["X-Token-Usage-Calls"] = str(usage.calls)
        response.headers["X-Token-Usage-Input"] = str(usage.total_input_tokens)
        response.headers["X-Token-Usage-Output"] = str(usage.total_output_tokens)
