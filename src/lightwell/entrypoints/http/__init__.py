"""The HTTP server. A request goes: `authentication` (who asks?) → a route → an operation → the knowledge base.

| module | what it holds |
|---|---|
| `app` | `create_app`: the routes on opened resources; what a process opens and closes |
| `routes` | the operations of `entrypoints/operations` as routes |
| `authentication` | from what a client shows to the caller: project, scopes, reader |
| `owner_door` | the reading operations for commands of the store's owner, on a socket in the data folder |
| `credentials` | which credentials are accepted, and how often: keys, tokens (`oidc`), limits (`failed_logins`) |
| `audit` | what the audit log says of a request |
| `browsers` | which web pages may call, which names the server has, and what a browser may do with its responses |
| `page` | the built web page: its addresses, scripts and styles |
| `body_limit` | how much of a request's body is read |
| `problems` | every error as a problem document (RFC 9457) |
| `openapi`, `examples` | the OpenAPI document, with an example and the problems of every operation |
| `exports` | downloads of what the caller sees (`download_folders` has their files) |
| `usage` | what models cost, as headers |
| `query_streams` | answers as streams of events, which can be resumed |
| `event_streams` | server-sent events: pings, errors, and cancellation when the client leaves |
| `slots` | how many streams a key may have open, and how many documents may be handed in at once |
| `page_pictures` | pages of PDFs as pictures, with the quotation marked |
| `originals` | what was uploaded or fetched, as a download |
| `uploads` | new documents (`multipart` reads forms) |
| `job_events` | the progress of a job as events |
| `background_worker`, `ingestion_process` | the worker in this process, or in one beside those that answer |
| `administration`, `directory` | projects, keys, why somebody sees a document; people and groups |
| `oauth_metadata` | where clients of MCP get a token |
| `projects` | the projects of a process, each opened once |
| `request_trail` | what surrounds each request: its id, its span (`spans`; `opentelemetry` sends them), its line of the audit log |
| `serving` | serves the application until a signal |
| `openai_api`, `openai_responses` | what clients of OpenAI need: models, chat completions, responses |
| `webhooks` | what business systems report |
| `bots` | opens the bots of chat platforms that the settings name |
| `channels` | accounts of chat platforms that people link, and groups there that are bound to tags |
| `chat_webhooks` | what chat platforms send |
| `mcp` | the tools of the Model Context Protocol at `/mcp` |
| `metrics` | figures for Prometheus, summed over all processes |
| `health` | is the process alive, and can it answer? |
"""
