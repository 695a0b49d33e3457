"""The real model and real speech that several tests share."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import settings

from connectors.model_files import resolve_model
from operators.models.llama import LlamaModel
from tests.virtual_microphone import _server, virtual_microphone

# How long an example takes says how busy the machine is, and nothing about the code.
settings.register_profile("surtitle", deadline=None)
settings.load_profile("surtitle")

__all__ = ["_server", "virtual_microphone"]


@pytest.fixture(scope="session")
def model_path() -> Path:
    """The default model, assembled."""
    return resolve_model("default")


@pytest.fixture(scope="session")
def model(model_path: Path) -> Iterator[LlamaModel]:
    """The default model, loaded."""
    loaded = LlamaModel(model_path)
    yield loaded
    loaded.close()


@pytest.fixture(scope="session")
def speech() -> Path:
    """Nine seconds of read speech at 16 kHz."""
    return Path(str(files("moonshine_voice"))) / "assets" / "beckett.wav"
