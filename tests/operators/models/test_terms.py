"""A model that is not for commercial use is known by what its file says."""

import pytest

from operators.models.terms import NON_COMMERCIAL, Limit, licence_limit


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
    assert licence_limit(header.get, file) == (licence and Limit(NON_COMMERCIAL, licence))


@pytest.mark.parametrize("name", ["HY MT1.5 1.8B", "HY-MT1.5-7B", "Hunyuan MT 7B"])
def test_a_licence_that_excludes_countries_is_known_by_the_models_name(name: str) -> None:
    limit = licence_limit({"general.name": name}.get, "x.gguf")
    assert limit is not None
    assert "European Union, the United Kingdom and South Korea" in limit.what
    assert licence_limit({"general.name": "Hy MT2 1.8B"}.get, "Hy-MT2-1.8B-Q4_K_M.gguf") is None
