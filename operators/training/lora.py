"""Low-rank adaptation (LoRA, Hu et al. 2022) of a model's linear layers, by transformers and peft."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from torch.nn.functional import cross_entropy
from torch.utils.data import Dataset
from transformers import AutoModelForCausalLM, GgufConfig, Trainer, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

from operators.prompts.prompt import Prompt
from operators.training.examples import Pair, Tokens, asked, example

#: The label of tokens that are not learned.
IGNORED = -100
#: alpha / rank: constant, because then one learning rate suits all ranks.
_SCALE = 2
#: Maximum number of tokens of an example; longer ones are cut.
_MOST_TOKENS = 512


class Examples(Dataset[Tokens]):  # type: ignore[misc]  # PyTorch is not installed by default
    """All pairs, ``epochs`` times, with different prefixes each time."""

    def __init__(
        self, pairs: Sequence[Pair], prompt: Prompt, *, prefixes: float, joint: str, seed: int, epochs: int
    ) -> None:
        self._pairs, self._prompt, self._seed, self._epochs = pairs, prompt, seed, epochs
        self._prefixes, self._joint = prefixes, joint

    def __len__(self) -> int:
        return self._epochs * len(self._pairs)

    def __getitem__(self, number: int) -> Tokens:
        pair, rng = self._pairs[number % len(self._pairs)], Random(f"{self._seed} {number}")
        return asked(self._prompt, example(pair, rng, prefixes=self._prefixes, joint=self._joint))


def batch_of(shown: Sequence[Tokens]) -> dict[str, torch.Tensor]:
    """Tokens, padded on the right, and labels: the next token where that is one of an answer."""
    width = min(_MOST_TOKENS, max(len(one.prompt) + len(one.answer) for one in shown))
    tokens = torch.zeros(len(shown), width, dtype=torch.long)
    labels = torch.full((len(shown), width), IGNORED)
    for row, one in enumerate(shown):
        text = torch.tensor([*one.prompt, *one.answer])[:width]
        tokens[row, : len(text)] = text
        start = len(one.prompt) - 1
        answer = torch.tensor(one.answer)[: max(0, width - start)]
        labels[row, start : start + len(answer)] = answer
    return {"input_ids": tokens, "labels": labels}


def loss_of(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Mean cross entropy of the answers' tokens, in nats.

    Only these tokens are multiplied with the output matrix. No mask is needed, because the padding is last.
    """
    hidden = model.model(input_ids=batch["input_ids"], use_cache=False).last_hidden_state
    learned = batch["labels"] != IGNORED
    return cross_entropy(model.lm_head(hidden[learned]).float(), batch["labels"][learned])


class _Trainer(Trainer):  # type: ignore[misc]
    def compute_loss(self, model: Any, inputs: dict[str, torch.Tensor], **_more: Any) -> torch.Tensor:
        return loss_of(self.accelerator.unwrap_model(model).base_model.model, inputs)


def load(path: Path, dtype: torch.dtype) -> Any:
    """The model in a GGUF file, with its weights dequantised."""
    return AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=dtype, quantization_config=GgufConfig(dequantize=True)
    ).eval()


def train(
    model: Any, examples: Examples, state: Path, *, rank: int, rate: float, batch: int, seed: int
) -> tuple[Path, list[float]]:
    """Train an adapter; returns its file (.safetensors) and the losses, in nats per token of the answers.

    Args:
        model: From `load`.
        state: The run's folder, from which a stopped run continues.
        rank: The rank of the adapter.
        rate: The highest learning rate; it rises during a warm-up, and falls to 0 with a cosine.
        batch: Examples per step.
        seed: The seed of the adapter's first weights and of the order of the examples.
    """
    dtype = model.dtype
    torch.manual_seed(seed)
    # transformers refuses to train a model that is marked as quantised, even if it no longer is.
    model.is_quantized, model.hf_quantizer = False, None
    # peft would fetch the configuration of a model with a name from the hub.
    model.name_or_path = ""
    learning = get_peft_model(
        model,
        LoraConfig(r=rank, lora_alpha=_SCALE * rank, target_modules="all-linear"),
    )
    settings = TrainingArguments(
        output_dir=str(state),
        num_train_epochs=1,
        per_device_train_batch_size=batch,
        learning_rate=rate,
        lr_scheduler_type="cosine",
        warmup_steps=0.03,
        adam_beta2=0.98,
        weight_decay=0.01,
        bf16=dtype is torch.bfloat16,
        use_cpu=not torch.cuda.is_available(),
        seed=seed,
        save_steps=500,
        save_total_limit=1,
        logging_steps=0.05,
        report_to=[],
        remove_unused_columns=False,
    )
    trainer = _Trainer(model=learning, args=settings, train_dataset=examples, data_collator=batch_of)
    trainer.train(resume_from_checkpoint=get_last_checkpoint(str(state)) if state.exists() else None)
    learning.save_pretrained(state)
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    return state / "adapter_model.safetensors", losses
