"""A user's own template is read, or one sentence says what is wrong with the file."""

from pathlib import Path

import pytest

from flows.engine.translation import read_template
from operators.errors import InputError

OURS = Path(__file__).parents[3] / "operators" / "prompts" / "templates"


@pytest.mark.parametrize("name", sorted(path.name for path in OURS.iterdir()))
def test_each_of_our_templates_can_be_copied_and_used(name: str) -> None:
    assert read_template(OURS / name)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "needs one key of pairs, message, prompt, and has none"),
        ('prompt = "{source}"\nmessage = "{source}"', "and has message and prompt"),
        ('prompt = "Translate this."', r"prompt: it needs the mark \{source\} where the speech goes"),
        ('message = "{source} {source}"', r"message: the mark \{source\} appears more than once"),
        ('message = "{source}"\nprompts = ["x"]', "unknown field `prompts`"),
        ('prompt = "{source}"\ncontrols = "<s>"', "controls: Expected `array`, got `str`"),
        (
            'message = "{source}"\n[terms]\nmessage = "{source}"',
            r"terms.message: it needs the mark \{notes\} once",
        ),
        ('message = "a {source}"\n[context]\nmessage = "{notes}{source}"', "there is a space before"),
        (
            'message = "{source}"\n[terms]\nmessage = "{notes}{source}"\neach = "{term}"',
            "terms.each: it needs",
        ),
        ("pairs = []", "Object missing required field `language`"),
        ('pairs = [{source = "a"}]', r"pairs\[0\]: Object missing required field `target`"),
        ("prompt = {source}", "this is not valid TOML"),
        ("#" * 20_000, "longer than the 16384 bytes of a template; check translate.template"),
    ],
)
def test_what_is_no_template_is_refused_in_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=sentence) as caught:
        read_template(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
