"""Writes the OpenAPI document, of which `make web` makes the types of the page; no database is needed."""

import json
import sys

from pydantic import SecretStr

from lightwell.entrypoints.http.app import create_app
from lightwell.settings import Settings

if __name__ == "__main__":
    settings = Settings(database_url=SecretStr("postgresql://unused"))
    json.dump(create_app(settings).openapi(), sys.stdout, indent=1)
