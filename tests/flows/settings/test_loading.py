"""Settings come from one file, the command line wins, and mistakes are named."""

from pathlib import Path
from typing import Any

import pytest

from flows.settings.loading import begin_settings, load_settings
from flows.settings.overrides import assigned
from operators.errors import InputError, UsageError


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "surtitle.toml"
    path.write_text(text)
    return path


def test_the_command_line_overrides_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, '[translate]\nbias = 0.1\nto = "French"\n')
    settings = load_settings(path, {"translate": {"bias": 0.3, "to": None}})
    assert (settings.translate.bias, settings.translate.target) == (0.3, "French")


@pytest.mark.parametrize("to", ['["German", "French"]', '["German,French"]', '"German, French"'])
def test_several_languages_are_a_list_or_have_commas_between(tmp_path: Path, to: str) -> None:
    settings = load_settings(written(tmp_path, f"[translate]\nto = {to}\n"), takes_several=True)
    assert settings.translate.targets == ("German", "French")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[translate]\nto = [3]", "translate.to[0]: Expected `str`, got `int`"),
        ("[translate]\nbiass = 0.1", "no setting translate.biass; did you mean translate.bias?"),
        ("[translat]\nbias = 0.1", "no setting translat; did you mean translate?"),
        ("[translate]\nmask-k = 3", "no setting translate.mask-k; did you mean display.mask_k?"),
        ("[web]\nzzz = 1", "no setting web.zzz; choose from enabled, host, port, "),
        ('[translate]\nmethod = "sbsd"', "translate.method: Invalid enum value 'sbsd'"),
        ("[translate]\nbias = 2", "translate.bias: Expected `float` <= 1.0"),
        (
            '[translate]\naccept = "near"',
            "translate: accept: there is no rule 'near'; choose from auto, bias,",
        ),
        ("[input]\nbuffer_s = 3", "there is no input.buffer_s any more; 30 seconds are buffered"),
        ("translate = 3", "translate: Expected `object`, got `int`"),
        ('[recognize]\nengine = "wisper"', "recognize.engine: there is no 'wisper'; choose from auto, "),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, text: str, sentence: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as error:
        load_settings(path)
    assert sentence in str(error.value)
    assert str(path) in str(error.value)


def test_values_of_set_are_toml_or_strings_and_override_the_file(tmp_path: Path) -> None:
    texts = [
        "translate.beam=2",
        "translate.draft_tree=true",
        "translate.to=French",
        "recognize.azure.region=x",
    ]
    more = ['output.sinks=["a=b"]', 'output.sinks=["c=d"]', 'input.kafka.client."security.protocol"=ssl']
    settings = load_settings(written(tmp_path, "[translate]\nbeam = 3\nbias = 0.1"), assigned(texts + more))
    translate = settings.translate
    assert (translate.beam, translate.bias, translate.draft_tree, translate.target) == (
        2,
        0.1,
        True,
        "French",
    )
    assert settings.recognize.azure.region == "x"
    assert settings.output.sinks == ("a=b", "c=d")
    assert settings.input.kafka.client["security.protocol"].reveal() == "ssl"


@pytest.mark.parametrize("text", ["beam=2", "translate.beam", "=2", "translate.=1", "a b.c=1"])
def test_set_refuses_a_text_without_key_or_value(text: str) -> None:
    with pytest.raises(UsageError, match="give a setting and its value, as in translate"):
        assigned([text])


def test_a_byte_order_mark_is_no_part_of_the_settings(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeff[translate]\nbias = 0.1\n")
    assert load_settings(path).translate.bias == 0.1


def test_a_device_is_no_file_of_settings() -> None:
    with pytest.raises(InputError, match="/dev/zero is not a regular file; put the settings in a file"):
        load_settings(Path("/dev/zero"))


def test_a_file_name_in_an_old_encoding_is_refused_before_it_reaches_a_file_of_ours() -> None:
    with pytest.raises(UsageError, match=r"input.audio is 'caf\\udce9.wav', which is not UTF-8; rename"):
        load_settings(None, {"input": {"audio": "caf\udce9.wav"}})


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        (
            '[translate]\naccept = "utility-0.6"\nbias = 0.3',
            {},
            "bias has no effect with accept = utility-0.6",
        ),
        (
            '[translate]\naccept = "utility-0.6"',
            {"bias": 0.2},
            "bias has no effect with accept = utility-0.6",
        ),
        (
            "[translate]\nfinal_bias = 0.1",
            {"accept": "exact"},
            "final_bias has no effect with accept = exact",
        ),
        (
            "[translate]\nbias = 0.1",
            {"method": "continuous"},
            "bias has no effect with method = continuous",
        ),
        ('[translate]\naccept = "utility-0.6"', {}, ""),
        ("[translate]\nbias = 0.3", {"accept": "bias"}, ""),
    ],
)
def test_a_bias_without_effect_is_reported_once(
    text: str, options: dict[str, object], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begin_settings(written(tmp_path, text), {"translate": {"to": "German", **options}})
    stderr = capsys.readouterr().err
    assert len(stderr.splitlines()) == bool(sentence)
    assert sentence in stderr


def test_a_wrong_value_on_the_command_line_is_reported_with_its_key() -> None:
    with pytest.raises(UsageError, match=r"^translate.threads: Expected `int` >= 1$"):
        load_settings(None, {"translate": {"to": "German", "threads": 0}})


@pytest.mark.parametrize(
    ("more", "is_so"),
    [
        ({}, True),
        ({"output": {"captions": "c.jsonl"}}, True),
        ({"output": {}}, False),  # the terminal is all that there is
        ({"output": {"srt": "talk.srt", "log": "log.jsonl"}}, False),
        ({"output": {"srt": "talk.srt", "summary": "summary.json"}}, False),
        ({"output": {"srt": "talk.srt", "kafka": {"captions": "captions"}}}, False),
        ({"web": {"enabled": True}}, False),
        ({"input": {"audio": "talk.wav", "realtime": True}}, False),
        ({"input": {"partials": "partials.jsonl"}}, False),
        ({"translate": {"keep_up": False}}, False),
        ({"translate": {"finals_only": True}, "web": {"enabled": True}}, True),
    ],
)
def test_only_recordings_that_nobody_watches_are_captioned_by_whole_sentences(
    more: dict[str, Any], is_so: bool
) -> None:
    given = {"input": {"audio": "talk.wav"}, "output": {"srt": "talk.srt"}}
    assert load_settings(None, given | more).finals_only == is_so


@pytest.mark.parametrize(("context", "is_so"), [(0, True), (1, False)])
def test_sentences_of_a_recording_are_translated_together_unless_preceding_ones_are_in_the_prompt(
    context: int, *, is_so: bool
) -> None:
    given: dict[str, dict[str, Any]] = {"input": {"audio": "talk.wav"}, "output": {"srt": "talk.srt"}}
    assert load_settings(None, given | {"translate": {"context": context}}).translates_together == is_so
