"""Vocabularies of a few letters with any merges, for what tokenizers do."""

from hypothesis import strategies as st

from tests.tiny_gguf import BYTE, CONTROL, NORMAL, UNKNOWN, USER_DEFINED, Tokens, Value, byte_pairs

LETTERS = "abc▁"
#: Texts that such vocabularies have tokens for, and some that they have not.
texts = st.text("abc dé\n", min_size=1, max_size=24)


@st.composite
def piece_vocabularies(draw: st.DrawFn) -> Tokens:
    """SentencePiece vocabularies: any strings with any scores, whether merges arrive at them or not."""
    words = draw(st.lists(st.text(LETTERS, min_size=2, max_size=5), min_size=3, max_size=25, unique=True))
    # Scores that are the same are frequent, as ties go to the left.
    scores = draw(st.lists(st.integers(-9, 0), min_size=len(words), max_size=len(words)))
    spelled = ["<unk>", "<s>", "</s>", "\n\n", *(f"<0x{byte:02X}>" for byte in range(256)), *LETTERS, "d"]
    return Tokens(
        {
            "tokenizer.ggml.model": "llama",
            "tokenizer.ggml.tokens": [*spelled, *words],
            "tokenizer.ggml.scores": [0.0] * len(spelled) + [float(score) for score in scores],
            "tokenizer.ggml.token_type": [
                UNKNOWN, CONTROL, CONTROL, USER_DEFINED, *[BYTE] * 256,
                *[NORMAL] * (len(LETTERS) + 1 + len(words)),
            ],
            "tokenizer.ggml.bos_token_id": 1,
            "tokenizer.ggml.eos_token_id": 2,
            "tokenizer.ggml.add_space_prefix": False,
        },
        [*spelled, *words],
    )  # fmt: skip


@st.composite
def pair_vocabularies(draw: st.DrawFn) -> Tokens:
    """Byte pair vocabularies: any merges, of Qwen's kind or of Llama 3's, which knows whole words at once."""
    base = byte_pairs({})
    bytes_ = base.texts[:256]
    known, merges = list("abc" + bytes_[32]), []
    for _ in range(draw(st.integers(3, 25))):
        left, right = draw(st.sampled_from(known)), draw(st.sampled_from(known))
        if left + right not in known:
            known.append(left + right)
            merges.append(f"{left} {right}")
    words = draw(st.permutations(known[4:]))
    texts = [*bytes_, *words, "<end>"]
    entries: dict[str, Value] = {
        **base.entries,
        "tokenizer.ggml.pre": draw(st.sampled_from(["qwen2", "llama-bpe"])),
        "tokenizer.ggml.tokens": texts,
        "tokenizer.ggml.token_type": [NORMAL] * (len(texts) - 1) + [CONTROL],
        "tokenizer.ggml.merges": merges or ["a b"],
        "tokenizer.ggml.eos_token_id": len(texts) - 1,
    }
    return Tokens(entries, texts)
