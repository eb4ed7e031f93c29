"""A stand-in for Slack: its Web API over HTTP, Socket Mode, requests to a server, and the people who write there.

Nothing of Slack can be had without an account. Names of fields, limits and words for errors are those of docs.slack.dev and of the models of slack-sdk.
"""
