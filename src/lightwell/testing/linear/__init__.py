"""A stand-in for Linear: a workspace that tests and the demo change as they like, behind Linear's GraphQL API."""
