"""A user's own template is read, or one sentence says what is wrong with the file."""

from pathlib import Path

import pytest

from flows.engine.language_model import read_template
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
        ('prompt = "Translate this."', r"prompt: it needs the mark \{source\} once, where the speech"),
        ('message = "{source} {source}"', r"message: it needs the mark \{source\} once"),
        ('message = "{source}"\nprompts = ["x"]', "unknown field `prompts`"),
        ('prompt = "{source}"\ncontrols = "<s>"', r"Expected `array`, got `str` - at `\$.controls`"),
        (
            'message = "{source}"\n[terms]\nmessage = "{source}"',
            r"terms.message: it needs the mark \{notes\} once",
        ),
        ('message = "a {source}"\n[context]\nmessage = "{notes}{source}"', "there is a space before"),
        ("pairs = []", "Object missing required field `language`"),
        ('pairs = [{source = "a"}]', "Object missing required field `target`"),
        ("prompt = {source}", "this is not valid TOML"),
        ("#" * 20_000, "has more than 16,384 bytes; check translate.template"),
    ],
)
def test_an_invalid_template_is_refused_in_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=sentence) as caught:
        read_template(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
