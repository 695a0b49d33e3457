"""``surtitle model assemble``: makes one model file from base weights, an adapter and a list of tokens."""

from pathlib import Path
from typing import Annotated

import typer

from connectors.files.distinct import check_distinct
from flows.running.waiting import Waiting
from operators.errors import UsageError, printable


def assemble(
    adapter: Annotated[
        Path, typer.Option(help="Adapter: a GGUF file of 'surtitle model train', or .safetensors of PEFT.")
    ],
    base: Annotated[
        str, typer.Option(help="The base model: a GGUF file, hub:OWNER/REPO:FILE.gguf, 'base'.")
    ] = "base",
    vocabulary: Annotated[
        Path | None,
        typer.Option(help="List of tokens to keep, from 'surtitle model prune'.", show_default="all of them"),
    ] = None,
    kinds: Annotated[
        str | None,
        typer.Option(
            "--type",
            help="Type of all tensors, or by group: head=Q8_0,attention=Q5_0,ffn=Q4_0,ffn_down=Q4_K.",
            show_default="those that the adapter was trained for, or Q8_0",
        ),
    ] = None,
    source: Annotated[
        str | None, typer.Option("--from", help="Language of the speech, if the adapter does not name it.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--to", help="Language of the captions, if the adapter does not name it.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the model here.", show_default="in the cache")
    ] = None,
) -> None:
    """Combine base weights, an adapter and a list of tokens into one model file, for --model."""
    # Imported here because other commands do not need it and should start fast.
    from connectors.models.adapter import types_for
    from connectors.models.assembly import Parts
    from connectors.models.assembly import assemble as assembled
    from connectors.models.captions import cached_path
    from connectors.models.resolve import resolve_model
    from connectors.models.writer import check_place, write_model
    from operators.models.tensor_types import parse_types
    from operators.prompts.template import TrainedPrompts, labels_of

    if (source is None) != (target is None):
        raise UsageError("give both --from and --to, or neither")
    prompts = None if source is None or target is None else TrainedPrompts((labels_of(source, target),))
    with Waiting(quiet=False, captions=False) as waiting:
        path = resolve_model(base, progress=waiting.doing)
        check_distinct([("--output", output)], [path, adapter, vocabulary])
        parts = Parts(path, adapter, vocabulary, parse_types(kinds or "", types_for(adapter)), prompts)
        made = output or cached_path(parts)
        check_place(made)
        file = assembled(parts, waiting.doing)
        sha256 = write_model(made, file, lambda part: waiting.doing(f"writing {made.name}", part))
    tokens = file.tensors["token_embd.weight"].shape[-1]
    print(f"{printable(str(made))}: {tokens} tokens, {made.stat().st_size / 1e6:.0f} MB, sha256 {sha256}")
