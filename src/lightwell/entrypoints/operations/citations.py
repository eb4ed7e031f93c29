"""What replies about questions, entities and documents share: what models cost."""

from lightwell.entrypoints.operations.replies import Reply


class Usage(Reply):
    """What calls of models cost; `byOperationType` counts the tokens that were sent and written together."""

    calls: int
    total_input_tokens: int
    total_output_tokens: int
    by_operation_type: dict[str, int]
