"""A client of a Lightwell server, synchronous and asynchronous.

    with Client("http://127.0.0.1:8000", api_key="lw_…") as client:
        reply = client.query("How many days of leave are there?")
        print(reply.answer, reply.citations)

`AsyncClient` has the same methods, each to be awaited. Replies are values whose attributes are the server's keys in snake_case.

| module | is |
|---|---|
| `clients` | the clients: connections with the operations as methods |
| `operations` | the operations as methods of both clients |
| `document_calls` | the calls that are made by hand: files, and what has an idempotency key |
| `event_parser` | server-sent events, line by line |
| `connections` | sends calls over HTTP, repeats what may be repeated, and resumes streams |
| `failures` | a problem document as an error |
"""
