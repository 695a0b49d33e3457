"""The interface of encoders of voices."""

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: 16 kHz mono, shape (samples,), -1 to 1.
Samples: TypeAlias = NDArray[np.float32]
#: Shape (size,), of length 1: two of one voice have a large product.
Embedding: TypeAlias = NDArray[np.float32]


class Encoder(Protocol):
    """A model of voices, shared by the streams of a process."""

    def embed(self, samples: Samples) -> Embedding:
        """The embedding of the speaker in a stretch of sound of a second or more."""
        ...

    def threshold(self, seconds: float) -> float:
        """The minimum product of two embeddings of one voice, for stretches of this many seconds."""
        ...
