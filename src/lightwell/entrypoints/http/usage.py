"""What models cost, as headers of a response."""

from collections.abc import Generator
from contextlib import contextmanager

from fastapi import Response

from lightwell.domain.usage import TokenSummary
from lightwell.metering import record_usage


@contextmanager
def usage_headers(response: Response) -> Generator[None]:
    """Say in the response's headers what models cost inside the block, where one was called."""
    with record_usage() as log:
        yield
    add_usage_headers(response, log.summary)


def add_usage_headers(response: Response, usage: TokenSummary) -> None:
    """Say what models cost, where one was called: `X-Token-Usage-Calls`, `-Input`, `-Output`, and the tokens of each type of operation
    that there was, such as `X-Token-Usage-Keyword-Extraction`.
    """
    if usage.calls:
        response.headers["X-Token-Usage-Calls"] = str(usage.calls)
        response.headers["X-Token-Usage-Input"] = str(usage.total_input_tokens)
        response.headers["X-Token-Usage-Output"] = str(usage.total_output_tokens)
        for operation, tokens in usage.by_operation_type.items():
            name = operation.value.title().replace("_", "-")
            response.headers[f"X-Token-Usage-{name}"] = str(tokens)
