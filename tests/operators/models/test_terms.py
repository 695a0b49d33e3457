"""A model that is not for commercial use is known by what its file says."""

import pytest

from operators.models.terms import non_commercial_licence


@pytest.mark.parametrize(
    ("header", "file", "licence"),
    [
        (
            {"general.name": "Tower Plus 2B", "general.license": "cc-by-nc-sa-4.0"},
            "x.gguf",
            "cc-by-nc-sa-4.0",
        ),
        ({"general.license": "other", "general.license.name": "Non-Commercial"}, "x.gguf", "Non-Commercial"),
        ({}, "Unbabel.Tower-Plus-9B.Q4_K_M.gguf", "CC BY-NC"),
        ({"general.name": "TowerInstruct 7B v0.2"}, "x.gguf", "CC BY-NC"),
        ({"general.basename": "Tower+"}, "x.gguf", "CC BY-NC"),
        ({"general.license": "apache-2.0"}, "qwen3-4b.gguf", None),
        ({"general.license": "incl. gemma", "general.name": "gemma"}, "sync.gguf", None),
        ({"general.name": "A tower of words"}, "tower.gguf", None),
        ({}, "gemma3-270m.gguf", None),
    ],
)
def test_the_licence_of_a_model_for_non_commercial_use(
    header: dict[str, str], file: str, licence: str | None
) -> None:
    assert non_commercial_licence(header.get, file) == licence
