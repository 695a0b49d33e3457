"""What Whisper hears in short windows.

python docs/scripts/whisper_windows.py MODEL AUDIO… --reference manifest.jsonl

Decodes each recording as a whole and from scratch: from 30 s, as the makers of the model do it, in float32
and in 8 bits; and as surtitle does it, in 8 bits, with two seconds of silence and the states of some more.
"""

import argparse
from pathlib import Path
from statistics import mean
from time import perf_counter

import numpy as np

from flows.measuring.corpus import read_clips, samples
from flows.measuring.speech_scores import spoken_words, word_errors
from operators.events import SAMPLE_RATE
from operators.languages import language
from operators.recognizers.whisper.model import WhisperModel
from operators.recognizers.whisper.recognizer import decode
from operators.recognizers.windowed.method import SpeechMethod
from operators.recognizers.windowed.segmenter import Samples

_MAX_SAMPLES = 28 * SAMPLE_RATE


def measure() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="folder of a Whisper model")
    parser.add_argument("audio", type=Path, nargs="+")
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--from", dest="spoken", default="English")
    options = parser.parse_args()
    clips = [(samples(clip), clip.text or "") for clip in read_clips(options.audio, options.reference)]
    exact, quantized = (WhisperModel(options.model, 2, is_exact=is_exact) for is_exact in (True, False))
    prompt = exact.files.vocabulary.prompt(language(options.spoken))
    for name, model, is_whole in (
        ("30 s, float32", exact, True),
        ("30 s, 8 bits", quantized, True),
        ("as long as it is, 8 bits", quantized, False),
    ):
        took_ms, errors, words = [], 0, 0
        for audio, text in clips:
            heard, encoder_ms = _hear(model, prompt, _whole(audio) if is_whole else audio[:_MAX_SAMPLES])
            took_ms.append(encoder_ms)
            spoken = spoken_words(text)
            errors, words = errors + word_errors(spoken, spoken_words(heard)), words + len(spoken)
        print(f"{name}: encoder {mean(took_ms):.0f} ms, word error rate {100 * errors / words:.2f} %")


def _whole(audio: Samples) -> Samples:
    return np.pad(audio[:_MAX_SAMPLES], (0, max(0, _MAX_SAMPLES - len(audio))))


def _hear(model: WhisperModel, prompt: list[int], audio: Samples) -> tuple[str, float]:
    began = perf_counter()
    encoded = model.encode(audio, prompt)
    encoder_ms = 1000 * (perf_counter() - began)
    heard = decode(SpeechMethod(use_draft=False), encoded, (), is_final=True)
    return model.files.vocabulary.text(heard.tokens), encoder_ms


if __name__ == "__main__":
    measure()
