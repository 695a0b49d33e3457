"""Whether two models speak in the same tokens, so that one can draft for the other."""

from operators.models.llama import LlamaModel


def first_difference(one: LlamaModel, other: LlamaModel) -> str | None:
    """What sets the vocabulary of ``other`` apart, in words; None where all tokens are the same texts."""
    if one is other:
        return None
    if one.vocabulary_size != other.vocabulary_size:
        return f"it has {other.vocabulary_size} tokens and not {one.vocabulary_size}"
    for token in range(one.vocabulary_size):
        if one.spelled(token) != other.spelled(token):
            return f"whose token {token} is {one.spelled(token)!r} and not {other.spelled(token)!r}"
        if one.is_end(token) != other.is_end(token):
            return f"only one of them ends its texts with {one.spelled(token)!r}"
    return None
