"""Trains a small Marian model on sentence pairs, and writes it as the Hub's exports of OPUS-MT are laid out.

PYTHONPATH=.:.venv/train python docs/scripts/train_marian.py PAIRS.tsv.gz FOLDER [--minutes 15]

PAIRS has a source and a translation on each line. Every so many of them are held out of training, all with
the same source, and written as FOLDER/held-out.source and .target. Shows that captions come out of an
encoder-decoder model from end to end, and what an update of them costs: no translator to use.
"""

import argparse
import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import torch
from transformers import MarianConfig, MarianMTModel

from tests.marian_export import END, Size, train_pieces, write_export

import sentencepiece  # isort: skip

#: Tokens of a batch, padding included; words of the longest sentence.
_BATCH, _WORDS = 1200, 30
_RATE, _WARM_UP = 3e-3, 150
Pair = tuple[list[int], list[int]]


def main() -> None:
    """Train for so many minutes of a core."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pairs", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=15.0, help="of one core")
    parser.add_argument("--held-out", type=int, default=500)
    parser.add_argument("--tokens", type=int, default=2000, help="of each language")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--languages", default="en-de")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    shown, held_out = split(read(options.pairs), options.held_out)
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, lines in zip(("source", "target"), zip(*held_out, strict=True), strict=True):
        (options.folder / f"held-out.{name}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    texts = {name: [pair[which] for pair in shown] for which, name in enumerate(("source", "target"))}
    pieces = train_pieces(options.folder, texts, options.tokens, input_sentence_size=50_000)
    size = Size(len(pieces), options.width, 4, options.layers, 4 * options.width)
    model = MarianMTModel(config(size))
    print(f"{len(shown)} pairs, {sum(one.numel() for one in model.parameters()) / 1e6:.1f} million weights")
    fit(model, encoded(options.folder, pieces, texts), size, 60 * options.minutes)
    weights = {name: values.numpy() for name, values in model.state_dict().items()}
    write_export(options.folder, weights, size, pieces)
    source, _, target = options.languages.partition("-")
    said = {"source_lang": source, "target_lang": target}
    (options.folder / "tokenizer_config.json").write_text(json.dumps(said))


def config(size: Size) -> MarianConfig:
    """The configuration of OPUS-MT's models, but for the measures."""
    parts = {
        f"{part}_{name}": value
        for part in ("encoder", "decoder")
        for name, value in (("layers", size.layers), ("attention_heads", size.heads), ("ffn_dim", size.inner))
    }
    return MarianConfig(
        vocab_size=size.tokens, decoder_vocab_size=size.tokens, d_model=size.width,
        activation_function="swish", max_position_embeddings=size.positions, scale_embedding=True,
        dropout=0.1, init_std=size.width**-0.5, pad_token_id=size.pad, eos_token_id=END,
        forced_eos_token_id=END, decoder_start_token_id=size.pad, **parts,
    )  # fmt: skip


def read(path: Path) -> list[tuple[str, str]]:
    """The pairs of a file, without long ones."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        pairs = [tuple(line.rstrip("\n").split("\t")[:2]) for line in file]
    return [(a, b) for a, b in pairs if max(len(a.split()), len(b.split())) <= _WORDS]


def split(pairs: list[tuple[str, str]], count: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The pairs to train on, and one pair of each source that is held out."""
    sources = sorted({source for source, _ in pairs if len(source.split()) >= 8})
    held_out = set(Random(1).sample(sources, count))
    translations = dict(pairs)
    shown = [pair for pair in pairs if pair[0] not in held_out]
    return shown, [(source, translations[source]) for source in sorted(held_out)]


def encoded(folder: Path, pieces: dict[str, int], texts: dict[str, list[str]]) -> list[Pair]:
    """The token ids of each pair, each text with its end."""
    sides = []
    for name, lines in texts.items():
        processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{name}.spm"))
        numbers = [pieces[processor.id_to_piece(one)] for one in range(processor.get_piece_size())]
        sides.append([[*(numbers[one] for one in line), END] for line in processor.encode(lines)])
    return list(zip(*sides, strict=True))


def batches(pairs: Sequence[Pair], rng: Random) -> Iterator[list[Pair]]:
    """Pairs of about the same length together, in any order, again and again."""
    while True:
        lengths = sorted(
            range(len(pairs)), key=lambda place: (len(pairs[place][0]) + rng.random(), rng.random())
        )
        found: list[list[Pair]] = [[]]
        for place in lengths:
            longest = max(len(side) for pair in (*found[-1][-1:], pairs[place]) for side in pair)
            if (len(found[-1]) + 1) * longest > _BATCH:
                found.append([])
            found[-1].append(pairs[place])
        rng.shuffle(found)
        yield from found


def fit(model: Any, pairs: Sequence[Pair], size: Size, seconds: float) -> None:
    """Train with label smoothing; the rate rises, and falls to 0 when the time is over."""
    began, steps, shown = process_time(), 0, 0
    optimizer = torch.optim.AdamW(model.parameters(), lr=_RATE, betas=(0.9, 0.98), weight_decay=0.01)
    model.train()
    for batch in batches(pairs, Random(2)):
        gone = (process_time() - began) / seconds
        if gone >= 1:
            break
        rate = _RATE * min((steps + 1) / _WARM_UP, 1.0, 2 * (1 - gone))
        for group in optimizer.param_groups:
            group["lr"] = rate
        sources, targets = (padded([pair[side] for pair in batch], size.pad) for side in (0, 1))
        inputs = torch.cat((torch.full_like(targets[:, :1], size.pad), targets[:, :-1]), dim=1)
        logits = model(
            input_ids=sources, attention_mask=(sources != size.pad).long(), decoder_input_ids=inputs
        ).logits
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=size.pad, label_smoothing=0.1
        )
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        steps, shown = steps + 1, shown + int((targets != size.pad).sum())
        if steps % 100 == 0:
            print(f"{gone:.0%}: {shown / 1000:.0f} thousand tokens, loss {loss.item():.2f}", flush=True)
    model.eval()


def padded(rows: Sequence[list[int]], pad: int) -> torch.Tensor:
    """Rows of the same length."""
    longest = max(map(len, rows))
    return torch.tensor([row + [pad] * (longest - len(row)) for row in rows])


if __name__ == "__main__":
    main()
