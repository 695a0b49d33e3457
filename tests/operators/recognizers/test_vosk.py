"""What is no model of Vosk's is refused in one sentence."""

import shutil
from pathlib import Path

import pytest

from operators.errors import InputError
from operators.recognizers.vosk import VoskRecognizer
from tests.operators.recognizers.test_protocol import VOSK_MODEL


def test_a_folder_that_is_no_model_is_refused_with_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        VoskRecognizer(model_path=tmp_path / "model")
    with pytest.raises(InputError, match=r"am/final\.mdl, conf/mfcc\.conf, conf/model\.conf; name"):
        VoskRecognizer(model_path=tmp_path)


@pytest.mark.parametrize("broken", ["am/final.mdl", "graph/HCLr.fst"])
def test_a_model_with_a_broken_file_is_refused(broken: str, tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(VOSK_MODEL, model, copy_function=lambda source, to: Path(to).symlink_to(source))
    (model / broken).unlink()
    (model / broken).write_bytes(b"not what it should be")
    with pytest.raises(InputError, match="cannot be loaded"):
        VoskRecognizer(model_path=model)
