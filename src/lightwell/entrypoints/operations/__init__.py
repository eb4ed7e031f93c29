"""What a caller can ask of Lightwell: each operation is declared once, in the module of its subject.

    declared ─┬─ http/routes.py         the route: path, scope, request and reply come from the declaration
              ├─ client/operations.py   a line there makes it a method of both clients; commands with --server send the same call
              └─ cli/asking.py          commands on the store of this machine run it here

A module holds, for one subject, the replies (`Reply`, made from domain values by their attributes), and the operations: functions of a
`Caller` and of what the request says. No module here imports the web server, the command line or the store, so a client needs neither.

| module | is |
|---|---|
| `declaration` | `Operation`, `Subject`, `Caller`: how an operation is declared, and how a client sends it |
| `replies` | `Schema` and `Reply`, the bases of requests and replies; types that several subjects share; pages of lists |
| `calls` | what is sent to a server, and how it becomes a method of the clients |
| the others | one subject each |
"""
