"""What can be held of the containers without an engine: the compose file is for a server that runs for long."""

import re
from pathlib import Path
from typing import Any

import yaml

from lightwell.entrypoints.cli import server_processes
from lightwell.entrypoints.http import serving
from lightwell.settings import VARIABLES

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
SERVER: dict[str, Any] = COMPOSE["services"]["server"]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
UNIT = (ROOT / "deploy/lightwell.service").read_text("utf-8")


def test_settings_come_from_a_file_that_need_not_be_there() -> None:
    assert SERVER["env_file"] == [{"path": ".env", "required": False}]


def test_what_the_containers_set_are_settings_and_all_that_the_ports_and_volumes_need() -> None:
    names = VARIABLES.keys()
    assert set(SERVER["environment"]) <= names
    assert SERVER["environment"]["LIGHTWELL_HTTP_HOST"] == "0.0.0.0"  # noqa: S104
    port = SERVER["environment"]["LIGHTWELL_HTTP_PORT"]
    assert SERVER["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert SERVER["volumes"] == [f"data:{SERVER['environment']['LIGHTWELL_DATA']}"]
    assert set(re.findall(r"LIGHTWELL_[A-Z_]+", DOCKERFILE)) <= names


def test_every_volume_has_a_name_so_that_a_new_container_finds_its_data() -> None:
    assert "VOLUME" not in DOCKERFILE
    used = {
        mount.partition(":")[0]
        for each in COMPOSE["services"].values()
        for mount in each["volumes"]
    }
    assert used == set(COMPOSE["volumes"])


def test_processes_are_reaped_and_have_time_to_end() -> None:
    assert SERVER["init"] is True
    needed = serving.GRACE_SECONDS + server_processes.GRACE_SECONDS
    assert needed < int(SERVER["stop_grace_period"].removesuffix("s"))
    assert needed < 60
    assert "TimeoutStopSec=60" in UNIT


def test_images_have_versions_and_a_user_without_rights() -> None:
    images = [
        *re.findall(r"^FROM (\S+)", DOCKERFILE, re.M),
        COMPOSE["services"]["database"]["image"],
    ]
    assert all(":" in image and not image.endswith(":latest") for image in images)
    assert re.search(r"^USER lightwell$", DOCKERFILE, re.M)
    assert SERVER["cap_drop"] == ["ALL"]
    assert SERVER["read_only"] is True
