"""A tree in one pass of llama.cpp says of each branch what a pass over that branch alone says."""

import numpy as np
import pytest

from operators.decoding.forward import Forward, Logits, TreeForward
from operators.decoding.tree import GrowingTree, TokenTree
from operators.models.llama import ContextSettings, LlamaContext, LlamaModel
from operators.models.pool import SessionPool
from tests.operators.models.test_llama import NOISE

pytestmark = pytest.mark.real_model


def tree_of(model: LlamaModel, *texts: str) -> TokenTree:
    """The texts as a tree, the first one its trunk."""
    growing = GrowingTree()
    for text in texts:
        node = -1
        for token in model.tokenize(text):
            node = growing.add(node, token)
    return growing.tree


def agree(got: Logits, want: Logits) -> bool:
    """Whether rows are the same but for the noise of kernels."""
    top = np.sort(want, axis=1)
    clear = top[:, -1] - top[:, -2] > NOISE
    is_same = (got.argmax(axis=1) == want.argmax(axis=1))[clear].all()
    return bool(is_same) and float(np.abs(got - want).mean()) < NOISE


def test_every_branch_of_a_tree_is_evaluated_as_if_it_were_alone(model: LlamaModel) -> None:
    prompt = model.begin + model.tokenize("The capital of France is Paris. The capital of Italy")
    branches = " is Rome. The capital of Spain", " is called Rome. The capital of", " was Turin, and"
    tree = tree_of(model, *branches)
    assert tree.size > tree.trunk + 4
    context = LlamaContext(model, ContextSettings(cells=1024, sequences=6, threads=2))
    pool = SessionPool(context, prompt[:4], 1, 4)
    with pool.session("tree") as session:
        rows = session.forward_tree(TreeForward(prompt, tree, len(prompt) - 1)).copy()  # type: ignore[attr-defined]
        assert len(rows) == tree.size + 1
        assert not agree(rows[1:], rows[:-1])
        # The last branch goes on where it is, and nothing of it is evaluated again.
        branch = [*prompt, *(tree.tokens[node] for node in tree.path(tree.size - 1))]
        more = [*branch, *model.tokenize(" then")]
        after = session.forward(Forward(more, len(branch))).copy()
        assert session.reused == len(branch)
    with pool.session("alone") as session:
        assert agree(after, session.forward(Forward(more, len(branch))))
    for node in range(tree.size):
        path = tree.path(node)
        with pool.session("alone") as session:
            tokens = [*prompt, *(tree.tokens[one] for one in path)]
            alone = session.forward(Forward(tokens, len(prompt) - 1))
        assert agree(rows[[0, *(one + 1 for one in path)]], alone)
    context.close()
