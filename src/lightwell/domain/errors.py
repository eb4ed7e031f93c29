"""The errors that Lightwell raises on purpose.

LightwellError
├── Invalid             the input is wrong; the message says what, and how to correct it
│   └── KeyReused       an idempotency key came again with another request
├── NotFound            it does not exist, or the reader may not see it (callers cannot tell which)
│   └── UnknownPerson   nobody active in the directory has the name that a request acts for
├── Forbidden           the credential is valid, but has not the scope
├── Refused             a webhook is not genuine: wrong signature, or too old
├── Unreadable          one document cannot be read; ingestion continues with the others
│   ├── TooLarge        it has more bytes than are allowed
│   └── LimitExceeded   reading it exceeded a limit; with a higher limit it may succeed
├── ParserFailed        the process that parses documents did not start
├── ModelFailed         a model endpoint refused, failed, or sent a reply that is not understood
│   ├── ModelBusy       the endpoint asks for later calls
│   ├── ModelRefused    the endpoint works, but refused this request or sent an empty reply
│   ├── ModelKeyRefused the endpoint refuses the key, or asks for one
│   ├── SchemaUnsupported  the endpoint does not support JSON schemas, and the caller requires one
│   └── BudgetSpent     the next call would exceed the token budget
├── SourceFailed        a source system refused or failed
├── ChannelFailed       a chat platform refused or failed
│   └── ChannelGone     a chat takes no messages of the bot: it is blocked, was removed, or the chat is deleted
├── StoreFailed         a database refused or failed
│   ├── GraphFailed     a graph store beside PostgreSQL refused, failed, or has no current copy
│   ├── StoreConflict   PostgreSQL rolled the transaction back in favour of another; a retry may succeed
│   ├── IndexFailed     a store that holds copies for searching, such as Milvus, refused or failed
│   └── ServerFailed    the embedded PostgreSQL did not start or stop
└── LeaseLost           another worker holds the job's lease now; this worker must write nothing for the job
"""


class LightwellError(Exception):
    """The root of the tree. `code` is stable and for programs; the message is for people."""

    code = "internal_error"


class Invalid(LightwellError):
    code = "invalid_request"


class KeyReused(Invalid):
    code = "idempotency_key_reused"


class NotFound(LightwellError):
    code = "not_found"


class UnknownPerson(NotFound):
    code = "unknown_person"


class Forbidden(LightwellError):
    code = "missing_scope"


class ForeignPage(Forbidden):
    """A browser sent its session with a request that does not come from this server's own page."""

    code = "foreign_page"


class Refused(LightwellError):
    code = "refused"


class Unreadable(LightwellError):
    """One document cannot be read; `reason` is a stable word such as `encrypted` or `too_large`."""

    code = "unreadable_document"

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class TooLarge(Unreadable):
    """A document has more bytes than are allowed."""

    code = "too_large"

    def __init__(self, message: str) -> None:
        super().__init__("too_large", message)


class LimitExceeded(Unreadable):
    """A document exceeded a limit of time or memory; `depends_on_process` where a fresh process might succeed."""

    code = "over_limit"

    def __init__(self, message: str, *, depends_on_process: bool) -> None:
        super().__init__("too_costly", message)
        self.depends_on_process = depends_on_process


class ParserFailed(LightwellError):
    code = "parser_failed"


class ModelFailed(LightwellError):
    code = "model_failed"


class ModelBusy(ModelFailed):
    code = "model_busy"


class ModelRefused(ModelFailed):
    """The endpoint answered, and the call is paid for; `response_text` is what it sent instead of a reply, "" for nothing."""

    code = "model_refused"

    def __init__(
        self,
        message: str,
        *,
        response_text: str = "",
        input_tokens: int = 0,
        output_tokens: int = 0,
    ) -> None:
        super().__init__(message)
        self.response_text = response_text
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens


class ModelKeyRefused(ModelFailed):
    """The endpoint refuses the key, or asks for one; another key may do."""


class SchemaUnsupported(ModelFailed):
    """The endpoint does not support JSON schemas, and the request requires one. Nothing was answered or paid for."""

    code = "schema_declined"


class BudgetSpent(ModelFailed):
    code = "budget_spent"


class SourceFailed(LightwellError):
    code = "source_failed"


class ChannelFailed(LightwellError):
    code = "channel_failed"


class ChannelGone(ChannelFailed):
    """The chat takes no messages of the bot, and will not take them later: whoever is there has to begin again."""

    code = "channel_gone"


class StoreFailed(LightwellError):
    code = "store_failed"


class GraphFailed(StoreFailed):
    code = "graph_failed"


class StoreConflict(StoreFailed):
    code = "store_conflict"


class IndexFailed(StoreFailed):
    code = "index_failed"


class ServerFailed(StoreFailed):
    code = "server_failed"


class EngineFailed(LightwellError):
    code = "engine_failed"


class LeaseLost(LightwellError):
    code = "lease_lost"
