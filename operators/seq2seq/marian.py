"""Marian's encoder and decoder in ONNX Runtime (Junczys-Dowmunt et al. 2018), one source at a time.

Exports by transformers 4.48 and before were traced with a single token in the merged decoder's second branch:
several would see each other. That is tried at the start (`is_causal`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.decoding.forward import Logits
from operators.models.onnx_graphs import MergedDecoder, OnnxGraph, own_thread
from operators.seq2seq.contract import Held, Read, Writing
from operators.seq2seq.folder import MarianFolder, read_vocabulary
from operators.trouble import ModelTrouble

_Array = NDArray[Any]


class MarianModel:
    """The weights and the vocabularies of one model, as an `EncoderDecoder`."""

    architecture = "marian"

    def __init__(self, folder: MarianFolder, threads: int) -> None:
        """Load the files; raises `InputError` if they are not those of a Marian model."""
        self.path = folder.path
        self.files: tuple[Path, ...] = (folder.encoder, folder.decoder)
        self.languages = (folder.languages.source_lang, folder.languages.target_lang)
        self.positions = folder.positions
        self.start, self.ends = folder.start, folder.ends
        self.vocabulary = read_vocabulary(folder.path, folder.ends)
        executor = own_thread()
        self._encoder = OnnxGraph(folder.encoder, threads, executor, keeps_memory=False)
        decoder = self._decoder = MergedDecoder(folder.decoder, threads, executor, keeps_memory=False)
        self.vocabulary_size = int(decoder.outputs["logits"][-1])
        self._banned = list(folder.banned)
        #: Whether the second branch takes several tokens at a time.
        self.is_causal = self._is_causal()
        # In cross-attention its tokens have no positions, so nothing is turned.
        self.can_shift = self.is_causal

    def metadata(self, key: str) -> str | None:
        """As of a GGUF's header: the name."""
        return {"general.name": self.path.name, "general.architecture": self.architecture}.get(key)

    def read(self, source: Sequence[int]) -> Read:
        """Read a source with its end token. Raises `ModelTrouble` if ONNX Runtime fails."""
        mask = np.ones((1, len(source)), np.int64)
        fed = {"input_ids": np.array([source], np.int64), "attention_mask": mask}
        return Read(len(source), next(iter(self._encoder.run(fed).values())), {})

    def write(self, writing: Writing) -> tuple[Logits, Held]:
        """Write after what is held. Raises `ModelTrouble` if ONNX Runtime fails."""
        read, held, tokens, rows = writing
        logits, held = self.go_on(read, held, tokens) if held else self.begin(read, tokens)
        return logits[len(logits) - rows :], held

    def begin(self, read: Read, tokens: Sequence[int]) -> tuple[Logits, Held]:
        """Write ``tokens`` from the start token on: their logits, (tokens, vocabulary), keys and values."""
        fed = dict.fromkeys((*self._decoder.own, *self._decoder.cross), self._decoder.empty)
        return self._pass(read, tokens, fed, is_first=True)

    def go_on(self, read: Read, held: Held, tokens: Sequence[int]) -> tuple[Logits, Held]:
        """Write ``tokens`` after what is held; only one, unless the model `is_causal`."""
        if not read.cross:
            self.begin(read, [self.start])
        return self._pass(read, tokens, {**held, **read.cross}, is_first=False)

    def _pass(
        self, read: Read, tokens: Sequence[int], past: Mapping[str, _Array], *, is_first: bool
    ) -> tuple[Logits, Held]:
        fed = {
            **past,
            "input_ids": np.array([list(tokens)], np.int64),
            "encoder_hidden_states": read.states,
            "encoder_attention_mask": np.ones((1, read.tokens), np.int64),
        }
        own, cross = self._decoder.own, self._decoder.cross
        wanted = [*own, *cross] if is_first and not read.cross else own
        logits, held = self._decoder.step(fed, wanted, is_first=is_first)
        read.cross.update((name, held.pop(name)) for name in wanted if name in cross)
        logits[:, self._banned] = -np.inf
        return logits, held

    def _is_causal(self) -> bool:
        start, end = self.start, self.ends[0]
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
