"""Vocabularies of a few letters with any merges, and texts that make use of them."""

from hypothesis import strategies as st

from tests.tiny_gguf import BYTE, CONTROL, NORMAL, UNKNOWN, USER_DEFINED, Tokens, Value, byte_pairs

_LETTERS = "abc▁"


def _grown(draw: st.DrawFn, letters: str) -> list[tuple[str, str]]:
    """Pairs that are merged, each of letters and of what was merged before."""
    known, pairs = list(letters), []
    for _ in range(draw(st.integers(2, 15))):
        left, right = draw(st.sampled_from(known)), draw(st.sampled_from(known))
        if left + right not in known and len(left + right) < 12:
            known.append(left + right)
            pairs.append((left, right))
    return pairs


def _texts(draw: st.DrawFn, words: list[str]) -> list[str]:
    parts = st.sampled_from([*words, "a", "b", " ", "d", "é", "\n\n", "."])
    return draw(st.lists(st.lists(parts, min_size=1, max_size=6).map("".join), min_size=1, max_size=3))


@st.composite
def piece_vocabularies(draw: st.DrawFn) -> tuple[Tokens, list[str]]:
    """SentencePiece vocabularies of any scores, whether merges arrive at their words or not."""
    words = list({left + right: None for left, right in _grown(draw, _LETTERS)})
    words += draw(st.lists(st.text(_LETTERS, min_size=2, max_size=4), max_size=3))
    words = list(dict.fromkeys(words))
    # Some scores are the same, as ties go to the left.
    scores = draw(st.lists(st.integers(-9, 0), min_size=len(words), max_size=len(words)))
    spelled = ["<unk>", "<s>", "</s>", "\n\n", *(f"<0x{byte:02X}>" for byte in range(256)), *_LETTERS, "d"]
    normal = len(_LETTERS) + 1 + len(words)
    entries: dict[str, Value] = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": [*spelled, *words],
        "tokenizer.ggml.scores": [0.0] * len(spelled) + [float(score) for score in scores],
        "tokenizer.ggml.token_type": [
            UNKNOWN, CONTROL, CONTROL, USER_DEFINED, *[BYTE] * 256, *[NORMAL] * normal,
        ],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.add_space_prefix": False,
    }  # fmt: skip
    return Tokens(entries, [*spelled, *words]), _texts(draw, [word.replace("▁", " ") for word in words])


@st.composite
def pair_vocabularies(draw: st.DrawFn) -> tuple[Tokens, list[str]]:
    """Byte pair vocabularies of any merges: Qwen's kind, or Llama 3's, which takes whole words at once."""
    base = byte_pairs({})
    letters = base.texts[:256]
    space = letters[32]
    pairs = draw(st.permutations(_grown(draw, f"abc{space}"))) or [("a", "b")]
    words = [left + right for left, right in pairs]
    texts = [*letters, *words, "<end>"]
    entries: dict[str, Value] = {
        **base.entries,
        "tokenizer.ggml.pre": draw(st.sampled_from(["qwen2", "llama-bpe"])),
        "tokenizer.ggml.tokens": texts,
        "tokenizer.ggml.token_type": [NORMAL] * (len(texts) - 1) + [CONTROL],
        "tokenizer.ggml.merges": [f"{left} {right}" for left, right in pairs],
        "tokenizer.ggml.eos_token_id": len(texts) - 1,
    }
    return Tokens(entries, texts), _texts(draw, [word.replace(space, " ") for word in words])
