"""The named models are well formed, and say nothing that the rest of the program does not know."""

from pathlib import Path

import pytest

from connectors.models.catalog import NamedModel, captions_directions, catalog, hub_name
from connectors.models.resolve import resolve_model
from operators.errors import UsageError
from operators.languages import LANGUAGES, Direction
from operators.prompts.select import fitting_template
from operators.prompts.template import TurnTemplate, named_templates
from tests.toy import SpellingVocabulary


@pytest.mark.parametrize("model", catalog().values(), ids=lambda model: model.name)
def test_an_entry_names_what_there_is(model: NamedModel) -> None:
    codes = model.languages.split()
    assert set(codes) <= {one.code for one in LANGUAGES}
    assert bool(codes) != model.is_per_pair
    assert (model.repository is None) == (model.file is None)
    assert model.template in {None, "few-shot", *named_templates()}
    # Four to five bits a weight, but for those whose weights stand for a time.
    assert model.is_per_pair or 0.5 < model.megabytes / 1000 / model.weights < 1.6


def test_a_name_stands_for_its_file_wherever_a_model_is_named() -> None:
    assert hub_name("hy-mt2-1.8b") == "hub:tencent/Hy-MT2-1.8B-GGUF:Hy-MT2-1.8B-Q4_K_M.gguf"
    assert hub_name("base") == "base"
    with pytest.raises(UsageError, match=r"there is no model hy-mt2-1\.8; did you mean hy-mt2-1\.8b\?"):
        resolve_model("hy-mt2-1.8")
    with pytest.raises(UsageError, match="there is no model nothing; `surtitle models` lists"):
        resolve_model("nothing")


def test_a_captions_model_translates_the_directions_in_its_folder() -> None:
    captions = catalog()["captions"]
    for one in captions_directions():
        assert captions.translates(one)
        assert {one.source.code, one.target.code} <= set(captions.languages.split())
    assert not captions.translates(Direction.of("de", "en"))


@pytest.mark.parametrize(
    "model", [one for one in catalog().values() if one.file is not None], ids=lambda model: model.name
)
def test_the_file_of_a_named_model_gets_the_prompt_of_its_makers_by_its_name_alone(model: NamedModel) -> None:
    template = named_templates()[model.template or ""]
    controls = template.controls if isinstance(template, TurnTemplate) else ()
    vocabulary = SpellingVocabulary(*controls, chat_template="{{ enable_thinking }}")
    vocabulary.path = Path(model.file or "")
    source, target = ("en", "ja") if model.template == "lfm2-enjp" else ("en", "de")
    assert fitting_template(vocabulary, source, target) == model.template
