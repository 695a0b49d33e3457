"""What makes an embedding of a voice."""

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
        """The embedding of who speaks in a stretch of sound, of which there is a second or more."""
        ...
