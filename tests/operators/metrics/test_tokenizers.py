"""Tokenizers and signatures of figures."""

import pytest

from operators.metrics import tokenizers
from operators.metrics.tokenizers import erasure_signature


def test_a_further_room_gets_its_signature_without_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    signature = erasure_signature("13a", 2)

    def read(_name: str) -> str:
        raise OSError("too many open files")

    monkeypatch.setattr(tokenizers, "version", read)
    assert erasure_signature("13a", 2) == signature
    assert signature.startswith("tok:13a|aggr:pooled|mask:2|sacrebleu:")
