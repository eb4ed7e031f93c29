"""What compose.yaml must say; nothing here runs containers."""

from pathlib import Path
from typing import Any

import yaml

COMPOSE: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[2] / "compose.yaml").read_text("utf-8")
)


def test_the_server_gets_settings_an_init_process_and_time_to_stop() -> None:
    server = COMPOSE["services"]["server"]
    assert server["env_file"] == [{"path": ".env", "required": False}]
    assert server["init"] is True
    assert int(server["stop_grace_period"].removesuffix("s")) > 15  # what a server takes at most
    assert "data:/data" in server["volumes"]
    assert set(COMPOSE["volumes"]) == {"data", "database"}
