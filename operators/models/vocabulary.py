"""Whether two models have the same tokens, so that one can draft for the other."""

from operators.models.llama_model import LlamaModel

#: Tokens by which vocabularies of one family may differ: padding at the end, or marks of images. llama.cpp
#: allows its own draft models as many.
MAX_PADDING = 128


def first_difference(one: LlamaModel, other: LlamaModel) -> str | None:
    """How the vocabulary of ``other`` differs, in words; None if all tokens have the same texts.

    One of them may have some extra tokens at the end.
    """
    if one is other:
        return None
    sizes = one.vocabulary_size, other.vocabulary_size
    if max(sizes) - min(sizes) > MAX_PADDING:
        return f"it has {other.vocabulary_size} tokens and not {one.vocabulary_size}"
    for token in range(min(sizes)):
        if one.spelled(token) != other.spelled(token):
            return f"its token {token} is {other.spelled(token)!r} and not {one.spelled(token)!r}"
        if one.is_end(token) != other.is_end(token):
            return f"only one of them ends its texts with {one.spelled(token)!r}"
    return None
