"""Marian's encoder and decoder in ONNX Runtime (Junczys-Dowmunt et al. 2018), one source at a time.

The merged decoder has two branches. One takes the encoder's states and any number of tokens, and also returns
the keys and values of cross-attention; the other takes those, and tokens after the ones that are held.
Exports by transformers 4.48 and before were traced with a single token there: several would see each other.
That is tried at the start (`is_causal`).
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from operators.decoding.forward import Logits
from operators.errors import InputError
from operators.models.onnx_files import onnx_session
from operators.seq2seq.folder import MarianFolder, TargetVocabulary
from operators.trouble import ModelTrouble, Trouble

_Array = NDArray[Any]
#: Keys and values by the names of the decoder's inputs; each has shape (1, heads, tokens, head width).
Held = Mapping[str, _Array]
_PAST, _PRESENT = "past_key_values.", "present."
#: Sources whose states are kept beside those of the open sequences: texts that come again.
_SOURCES = 4


class Read(NamedTuple):
    """A source that was read: the encoder's states, and what cross-attention needs of them if known."""

    states: _Array
    mask: _Array
    cross: dict[str, _Array]


class MarianModel:
    """The weights and the vocabularies of one model."""

    #: Its memory can be cut at any position.
    is_recurrent = False

    def __init__(self, folder: MarianFolder, threads: int) -> None:
        """Load the files; raises `InputError` if they are not those of a Marian model."""
        self.folder = folder
        self.path = folder.path
        self.vocabulary = TargetVocabulary(folder.path, folder.ends)
        self._encoder, self._decoder = (
            onnx_session(path, threads, keeps_memory=False) for path in (folder.encoder, folder.decoder)
        )
        shapes = {one.name: one.shape for one in self._decoder.get_inputs()}
        past = [name for name in shapes if name.startswith(_PAST)]
        if not past or "use_cache_branch" not in shapes:
            raise InputError(
                f"{folder.decoder}: this is not a merged decoder; fetch the model's merged export"
            )
        self._given = set(shapes)
        self._empty = np.zeros((1, int(shapes[past[0]][1]), 0, int(shapes[past[0]][3])), np.float32)
        self._own = [name for name in past if ".encoder." not in name]
        self._cross = [name for name in past if ".encoder." in name]
        self.vocabulary_size = int(self._decoder.get_outputs()[0].shape[-1])
        #: Bytes of a token's keys and values.
        self.token_bytes = len(self._own) * self._empty.shape[1] * self._empty.shape[3] * 4
        self._banned = list(folder.banned)
        self._known: OrderedDict[tuple[int, ...], Read] = OrderedDict()
        # One pass at a time: two would compete for the cores.
        self._lock = Lock()
        #: Whether the second branch takes several tokens at a time.
        self.is_causal = self._is_causal()

    def metadata(self, key: str) -> str | None:
        """As of a GGUF's header: the name."""
        return {"general.name": self.path.name, "general.architecture": "marian"}.get(key)

    def read(self, source: Sequence[int]) -> Read:
        """Read a source, which ends with the end token. Raises `ModelTrouble` if ONNX Runtime fails."""
        key = tuple(source)
        read = self._known.pop(key, None)
        if read is None:
            mask = np.ones((1, len(key)), np.int64)
            fed = {"input_ids": np.array([key], np.int64), "attention_mask": mask}
            read = Read(self._run(self._encoder, None, fed)[0], mask, {})
        self._known[key] = read
        while len(self._known) > _SOURCES:
            self._known.popitem(last=False)
        return read

    def begin(self, read: Read, tokens: Sequence[int]) -> tuple[Logits, Held]:
        """Write ``tokens`` from the start token on: their logits, (tokens, vocabulary), keys and values."""
        fed = dict.fromkeys((*self._own, *self._cross), self._empty)
        return self._pass(read, tokens, fed, is_first=True)

    def go_on(self, read: Read, held: Held, tokens: Sequence[int]) -> tuple[Logits, Held]:
        """Write ``tokens`` after what is held; only one, unless the model `is_causal`."""
        if not read.cross:
            self.begin(read, [self.folder.start])
        return self._pass(read, tokens, {**held, **read.cross}, is_first=False)

    def _pass(
        self, read: Read, tokens: Sequence[int], past: Mapping[str, _Array], *, is_first: bool
    ) -> tuple[Logits, Held]:
        fed = {
            **past,
            "input_ids": np.array([list(tokens)], np.int64),
            "encoder_hidden_states": read.states,
            "encoder_attention_mask": read.mask,
            "use_cache_branch": np.array([not is_first]),
        }
        wanted = [*self._own, *self._cross] if is_first and not read.cross else self._own
        names = ["logits", *(_PRESENT + name.removeprefix(_PAST) for name in wanted)]
        rows, *made = self._run(
            self._decoder, names, {name: fed[name] for name in fed if name in self._given}
        )
        held = dict(zip(wanted, made, strict=True))
        read.cross.update((name, held.pop(name)) for name in wanted if name in self._cross)
        logits: Logits = rows[0]
        logits[:, self._banned] = -np.inf
        return logits, held

    def _run(self, session: Any, names: list[str] | None, fed: dict[str, _Array]) -> list[_Array]:
        try:
            with self._lock:
                return session.run(names, fed)  # type: ignore[no-any-return]  # onnxruntime has no annotations
        except Exception as error:  # the library's classes share no other base
            raise ModelTrouble(Trouble.FAILED_PASS, f"ONNX Runtime failed: {error}") from error

    def _is_causal(self) -> bool:
        start, end = self.folder.start, self.folder.ends[0]
        tokens = [start, *(number for number in range(10) if number not in (start, end, *self._banned))]
        read = self.read([tokens[-1], end])
        whole, held = self.begin(read, tokens)
        held = {name: values[:, :, :1] for name, values in held.items()}
        try:
            together, _ = self.go_on(read, held, tokens[1:])
        except ModelTrouble:
            return False
        alone = []
        for token in tokens[1:]:
            row, held = self.go_on(read, held, [token])
            alone.append(row[0])
        whole, together, right = (
            np.delete(rows, self._banned, axis=1) for rows in (whole[1:], together, np.stack(alone))
        )
        # Quantised models answer a little differently in each pass: by 0.02 standard deviations. Seeing
        # later tokens makes it 0.4 in a trained model.
        noise, difference = (np.sqrt(((rows - right) ** 2).mean()) for rows in (whole, together))
        return bool(difference < 3 * noise + 0.01 * right.std())
