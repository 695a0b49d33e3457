"""Counts the tokens of texts with llama.cpp's tokenizer, without a model's weights."""

import ctypes
from collections.abc import Iterable
from pathlib import Path

import llama_cpp as llama
import numpy as np
from numpy.typing import NDArray

from operators.errors import InputError
from operators.models.llama_model import be_quiet


class TextTokenizer:
    """The tokenizer inside a GGUF file."""

    def __init__(self, path: Path) -> None:
        """Raises `InputError` if llama.cpp cannot read the file."""
        be_quiet()
        params = llama.llama_model_default_params()
        params.vocab_only = True
        self._model = llama.llama_model_load_from_file(str(path).encode(), params)
        if not self._model:
            raise InputError(
                f"{path}: llama.cpp cannot load this vocabulary; use a GGUF file that it supports"
            )
        self._vocab = llama.llama_model_get_vocab(self._model)
        self.size = int(llama.llama_vocab_n_tokens(self._vocab))
        self._buffer = (llama.llama_token * 4096)()

    def close(self) -> None:
        """Free the vocabulary."""
        if self._model:
            llama.llama_model_free(self._model)
            self._model = None

    def tokenize(self, text: str) -> NDArray[np.int32]:
        """Token ids of a text that cannot spell control tokens; the next call overwrites them."""
        data = text.encode("utf-8", "replace")
        while (count := self._tokenize(data)) < 0:
            self._buffer = (llama.llama_token * (-count + 8))()
        return np.ctypeslib.as_array(self._buffer)[:count]

    def count(self, texts: Iterable[str]) -> NDArray[np.int64]:
        """How often each token occurs in the texts, both as they are and after a space, as in prompts."""
        counts = np.zeros(self.size, np.int64)
        for text in texts:
            for form in (text, f" {text}"):
                np.add.at(counts, self.tokenize(form), 1)
        return counts

    def _tokenize(self, data: bytes) -> int:
        count: int = llama.llama_tokenize(
            self._vocab,
            data,
            len(data),
            ctypes.cast(self._buffer, llama.llama_token_p),
            len(self._buffer),
            False,
            False,
        )
        return count
