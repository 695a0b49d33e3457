"""What passes of different sizes make of the same tokens: python docs/scripts/whisper_noise.py MODEL AUDIO…

Hears the finals of the recordings, evaluates each transcript token by token and in one pass after the prompt,
and compares the gaps between the logits of the two best tokens, which decide.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from flows.measuring.corpus import read_clips, samples
from operators.decoding.speech import gaps_to_next
from operators.languages import language
from operators.recognizers.whisper.model import Encoded, WhisperModel
from operators.recognizers.whisper.recognizer import MARGIN, RULES, decode
from operators.recognizers.windowed.method import SpeechMethod
from operators.recognizers.windowed.segmenter import Segmenter, silero


def measure() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="folder of a Whisper model")
    parser.add_argument("audio", type=Path, nargs="+")
    parser.add_argument("--from", dest="spoken", default="English")
    parser.add_argument("--float32", action="store_true", help="compute in float32 instead of in 8 bits")
    options = parser.parse_args()
    model = WhisperModel(options.model, 2, is_exact=options.float32)
    noise: list[float] = []
    closest: list[float] = []
    for encoded in _finals(model, options.audio, model.files.vocabulary.prompt(language(options.spoken))):
        tokens = decode(SpeechMethod(use_draft=False), encoded.again(), (), is_final=True).tokens
        singly, at_once = _gaps(encoded.again(), tokens, 1), _gaps(encoded.again(), tokens, len(tokens))
        noise += abs(singly - at_once).tolist()
        closest.append(float(singly.min()))
    quantiles = np.quantile(noise, [0.95, 0.99, 1])
    doubtful = np.mean(np.array(closest) < MARGIN)
    print(
        f"{len(noise)} tokens of {len(closest)} finals: mean {np.mean(noise):.3f}, "
        "95 % {:.3f}, 99 % {:.3f}, most {:.3f}; ".format(*quantiles)
        + f"{100 * doubtful:.0f} % of the finals have a gap below {MARGIN}"
    )


def _finals(model: WhisperModel, audio: list[Path], prompt: list[int]) -> Iterator[Encoded]:
    for clip in read_clips(audio, None):
        segmenter = Segmenter(silero(), 0.5, RULES)
        for window in [*segmenter.accept(samples(clip)), *segmenter.finish()]:
            if window.is_final:
                yield model.encode(window.samples, prompt)


def _gaps(
    encoded: Encoded, tokens: tuple[int, ...], size: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The gaps before each token and after the last, in passes of ``size`` tokens after the prompt."""
    rows = [encoded.evaluate(encoded.prompt, 0, 1)]
    at = len(encoded.prompt)
    for begin in range(0, len(tokens), size):
        part = tokens[begin : begin + size]
        rows.append(encoded.evaluate(part, at + begin, len(part)))
    return np.array([gap for some in rows for gap in gaps_to_next(some)])


if __name__ == "__main__":
    measure()
