"""Kinds of models as far as decoding cares: what memory they have, and which cannot be used."""

import ctypes

import llama_cpp as llama

USE_ANOTHER = "use a decoder-only language model, such as an instruct model"
#: The kind of a model whose context has no memory, such as BERT.
WITHOUT_MEMORY = "an embedding model that writes no text"


def is_recurrent(model: ctypes.c_void_p | None) -> bool:
    """Whether the memory, or part of it, is a state that cannot be cut at any position."""
    return bool(llama.llama_model_is_recurrent(model) or llama.llama_model_is_hybrid(model))


def other_kind(model: ctypes.c_void_p | None) -> str | None:
    """The kind of a model that does not continue a text token by token; None for one that does."""
    if llama.llama_model_is_diffusion(model):
        return "a diffusion model, which does not write from left to right"
    if not llama.llama_model_has_decoder(model):
        return "an encoder that writes no text"
    if llama.llama_model_has_encoder(model):
        return "a model with an encoder, which reads the whole of a text before it writes"
    return None
