"""What is in deploy/: valid by the schemas of the tools that read it, with options and ports that exist."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import typer
import yaml

from flows.cli.app import app
from flows.observe.audience import room_registry
from flows.settings.loading import load_settings

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"
CONTAINERFILE = (DEPLOY / "Containerfile").read_text()
COMPOSE = DEPLOY / "compose.yaml"
#: The newest version of Kubernetes, and an old one that is still in use.
KUBERNETES = ("1.30", "1.33")


def manifests() -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()) if one]


def manifest(kind: str) -> dict[str, Any]:
    (found,) = [one for one in manifests() if one["kind"] == kind]
    return found


def container() -> dict[str, Any]:
    (found,) = manifest("Deployment")["spec"]["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def service() -> dict[str, Any]:
    found = yaml.safe_load(COMPOSE.read_text())["services"]["surtitle"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("version", KUBERNETES)
def test_the_manifests_are_valid(version: str) -> None:
    for one in manifests():
        kubernetes_validate.validate(one, version, strict=True)


def test_the_compose_file_is_valid() -> None:
    schema = ["--builtin-schema", "vendor.compose-spec"]
    subprocess.run([sys.executable, "-m", "check_jsonschema", *schema, COMPOSE], check=True)


def flags(arguments: list[str]) -> list[str]:
    return [one for one in arguments if one.startswith("--")]


def test_every_way_to_start_it_has_options_that_there_are() -> None:
    serve = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
    known = {name for parameter in serve.params for name in parameter.opts}
    default = re.findall(r'"([^"]+)"', CONTAINERFILE.splitlines()[-1])
    for arguments in (default, service()["command"], container()["args"]):
        assert arguments[0] == "serve"
        assert {one for one in arguments if one.startswith("--")} <= known
        assert arguments[arguments.index("--host") + 1] == "0.0.0.0"
        assert "metrics.listen=0.0.0.0:9464" in arguments


def test_the_settings_are_settings_of_rooms(tmp_path: Path) -> None:
    mounted = tmp_path / "surtitle.toml"
    mounted.write_text(manifest("ConfigMap")["data"]["surtitle.toml"])
    for path in (DEPLOY / "surtitle.toml", mounted):
        settings = load_settings(path)
        assert room_registry(settings).limits.rooms == 4
        assert "captions.example.org" in settings.web.names


def test_all_agree_on_the_ports() -> None:
    (exposed,) = re.findall(r"^EXPOSE (.+)$", CONTAINERFILE, re.MULTILINE)
    assert exposed.split() == ["8080", "9464"]
    assert [one.rpartition(":")[2] for one in service()["ports"]] == exposed.split()
    assert all(one.startswith("127.0.0.1:") for one in service()["ports"]), "TLS stands between it and others"
    assert [str(one["containerPort"]) for one in container()["ports"]] == exposed.split()


def test_no_secret_is_in_a_file() -> None:
    assert service()["environment"]["SURTITLE_WEB_TOKEN"].startswith("${SURTITLE_WEB_TOKEN:?")
    (token,) = container()["env"]
    assert "secretKeyRef" in token["valueFrom"]
    assert not any("token" in path.read_text().lower() for path in DEPLOY.glob("*.toml"))
