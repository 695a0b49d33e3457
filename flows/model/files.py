"""``surtitle model prune`` and ``assemble``: a file of fewer tokens, or of base weights and an adapter."""

from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from connectors.files.distinct import check_distinct
from flows.running.waiting import Waiting
from operators.errors import UsageError, printable
from operators.languages import language

MODEL_HELP = "Path of a GGUF file, hub:OWNER/REPO:FILE.gguf, 'base'."


def prune(
    model: Annotated[str, typer.Argument(help=MODEL_HELP)],
    output: Annotated[Path, typer.Option("-o", "--output", help="Write the smaller model here.")],
    texts: Annotated[
        list[Path],
        typer.Option(
            help="Texts, one per line or separated by tabs (.gz too): their tokens are kept; may be repeated."
        ),
    ],
    languages: Annotated[
        list[str] | None,
        typer.Option(
            "--language", help="Letters of its scripts are kept; may be repeated.", show_default="English"
        ),
    ] = None,
    keep_ids: Annotated[
        int, typer.Option(min=0, help="Keep words in these scripts among this many first tokens.")
    ] = 0,
    size: Annotated[
        int | None,
        typer.Option(
            min=1, help="Maximum number of tokens; the most frequent are kept.", show_default="no limit"
        ),
    ] = None,
    vocabulary: Annotated[
        Path | None, typer.Option(help="Write the list of kept tokens here, for 'surtitle model assemble'.")
    ] = None,
) -> None:
    """Make a smaller, faster model by removing tokens that your texts and languages do not use.

    Bytes, letters, digits and marks are always kept, so any text can be spelled, and your texts are tokenised
    as before.
    """
    # Imported here because other commands do not need it and should start fast.
    from connectors.gguf.file import GgufFile, read_gguf
    from connectors.models.assembly import prune as pruned
    from connectors.models.resolve import resolve_model
    from connectors.models.vocabulary import list_entries, list_file, tokenizer_of
    from connectors.models.writer import check_place, write_model
    from operators.models.pruning import Choice

    scripts = {script for name in languages or ["English"] for script in language(name).scripts}
    with Waiting(quiet=False, captions=False) as waiting:
        path = resolve_model(model, progress=waiting.doing)
        check_distinct([("--output", output), ("--vocabulary", vocabulary)], [path, *texts])
        for made in filter(None, (output, vocabulary)):
            check_place(made)
        file = read_gguf(path)
        tokenizer = tokenizer_of(file, path)
        counts = _counts(path, texts, waiting)
        choice = Choice(tokenizer, scripts)
        if size is not None and size < len(choice):
            raise UsageError(
                f"--size {size}: spelling any text takes {len(choice)} tokens; give at least that many"
            )
        choice.add(np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].tolist(), size)
        choice.add(choice.words(keep_ids), size)
        smaller = pruned(file, tokenizer, choice.ids, path)
        about = smaller.entries | list_entries(file, tokenizer.size, choice.ids)
        sha256 = write_model(
            output,
            GgufFile(about, smaller.tensors),
            lambda part: waiting.doing(f"writing {output.name}", part),
        )
        if vocabulary is not None:
            write_model(vocabulary, list_file(file, tokenizer.size, choice.ids))
    share = counts[choice.ids].sum() / counts.sum()
    megabytes = output.stat().st_size / 1e6
    name = printable(str(output))
    print(f"{name}: {len(choice)} of {tokenizer.size} tokens, {megabytes:.0f} MB, sha256 {sha256}")
    print(f"{share:.2%} of the texts' tokens are kept" if share < 1 else "the texts are tokenised as before")


def _counts(path: Path, texts: list[Path], waiting: Waiting) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The count of each token in the texts."""
    from connectors.corpora import each_text
    from operators.models.llama_model import TextTokenizer

    counter = TextTokenizer(path)
    counts = np.zeros(counter.size, np.int64)
    for one in texts:
        doing = partial(waiting.doing, f"counting the tokens of {one.name}")
        counts += counter.count(each_text(one, doing))
    counter.close()
    return counts


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
    from connectors.models.assembly import Parts, cached_path
    from connectors.models.assembly import assemble as assembled
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
