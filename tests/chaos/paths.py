"""The options that name files, found in the command line itself, and what belongs in those files."""

import inspect
import json
import wave
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, get_args, get_origin

import soundfile
import typer

from tests.adapters import noise, write_adapter
from tests.tiny_gguf import pieces, write_model

ROOT = Path(__file__).parent.parent.parent
SAMPLES = ROOT / "tests" / "samples"

#: Options that take text and name no file, in every command.
WORDS = {
    "about", "accept", "addresses", "beamed", "bias", "block", "certainty", "close_unfinished",
    "commit", "commit_gap", "device", "draft_length", "draft_mask", "draft_threshold", "final_bias",
    "from_", "hold_back", "host", "kinds", "languages", "lengths", "log_format", "mask_k", "method",
    "methods", "metrics", "min_block", "modes", "proposal_bias", "ratio", "recognizer", "rooms",
    "sentences", "server", "server_metrics", "simulate", "sink", "split", "spoken", "stream", "subtitles",
    "sure", "target", "thresholds", "to", "way",
}  # fmt: skip
#: And in these.
WORDS_OF = {
    ("model assemble", "source"), ("model distill", "source"), ("model heads", "source"),
    ("model train", "source"),
}  # fmt: skip

#: Commands that serve others and only end when they are told.
ENDLESS = {"serve"}

#: What is written: a file, or files in a folder.
FILE, FOLDER = "a file", "a folder"


class Path_(NamedTuple):  # noqa: N801 - pathlib has the name
    """An option or argument that names a file or folder."""

    command: str
    name: str
    #: Its flag; empty for an argument.
    flag: str
    is_required: bool
    #: What is in the file before; or `FILE` or `FOLDER` where it is written.
    kind: str

    @property
    def is_written(self) -> bool:
        """Whether the program writes there."""
        return self.kind in (FILE, FOLDER)


_KINDS = {
    "adapter": "adapter", "audio": "speech", "base": "model", "begin": "adapter", "captions": FILE,
    "comet": "text", "costs": "costs", "dictionary": "pairs", "draft_model": "model", "events": "partials",
    "from_captions": "captions", "glossary": "pairs", "job": "settings",
    "from_partials": "partials", "from_translations": "translations",
    "heads": "adapter", "json": FILE, "judged": "text", "log": FILE, "markdown": FILE, "model": "model",
    "output": FILE, "pairs": "pairs", "partials": "partials", "plot": FILE, "plots": FOLDER,
    "recording": "partials", "recovery": FOLDER,
    "reference": "text", "replay": "text", "save_audio": FILE, "save_partials": FILE,
    "save_sentences": FILE, "save_translations": FILE, "settings": "settings", "simulstream": FILE,
    "source": "text", "speech_model": "speech model", "srt": FILE, "summary": FILE, "svg": FOLDER,
    "template": "template",
    "texts": "text", "trace": "trace", "trajectories": FILE, "vocabulary": "text", "vtt": FILE,
}  # fmt: skip
_KINDS_OF = {
    ("report", "events"): "captions", ("model prune", "vocabulary"): FILE, ("model align", "output"): FOLDER,
    ("bench-speech", "reference"): "manifest", ("job", "settings"): "pipeline",
}  # fmt: skip


@cache
def paths() -> tuple[Path_, ...]:
    """All options that name files.

    Raises:
        LookupError: for one that takes text or a path and of which this module knows nothing.
    """
    from flows.cli.app import app

    return tuple(_paths(app, ""))


def _paths(app: typer.Typer, before: str) -> Iterator[Path_]:
    flags = {
        command.name: {one.name: one.opts for one in command.params}
        for command in getattr(typer.main.get_group(app), "commands", {}).values()
    }
    for registered in app.registered_commands:
        assert registered.callback is not None
        name = registered.name or registered.callback.__name__.replace("_", "-")
        if name in ENDLESS:
            continue
        for parameter in inspect.signature(registered.callback).parameters.values():
            if not _is_text(parameter.annotation):
                continue
            kind = _kind(f"{before}{name}", parameter.name)
            if kind is not None:
                flag = flags[name][parameter.name][-1]
                is_required = parameter.default is inspect.Parameter.empty
                yield Path_(
                    f"{before}{name}", parameter.name, flag if flag[0] == "-" else "", is_required, kind
                )
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from _paths(group.typer_instance, f"{before}{group.name} ")


def _is_text(annotation: Any) -> bool:
    """Whether an annotation has a text or a path in it."""
    if get_origin(annotation) is None:
        return annotation in (str, Path)
    return any(_is_text(one) for one in get_args(annotation) if isinstance(one, type) or get_origin(one))


def _kind(command: str, name: str) -> str | None:
    if (command, name) in WORDS_OF or (name in WORDS and (command, name) not in _KINDS_OF):
        return None
    kind = _KINDS_OF.get((command, name)) or _KINDS.get(name)
    if kind is None:
        raise LookupError(
            f"surtitle {command} has a {name} that tests/chaos/paths.py does not know: say there what it is"
        )
    return kind


def write(kind: str, path: Path) -> None:
    """Make a file, or a folder of a speech model, with what belongs there."""
    _MAKERS[kind](path)


def _events(name: str) -> Callable[[Path], object]:
    return lambda path: path.write_bytes((SAMPLES / f"{name}.jsonl").read_bytes())


def _text(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(text)


def _speech(path: Path) -> None:
    samples, rate = soundfile.read(files("moonshine_voice") / "assets" / "beckett.wav", dtype="int16")
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(samples[: 2 * rate].tobytes())


def _model(path: Path) -> None:
    write_model(path, pieces({}))


def _speech_model(path: Path) -> None:
    path.mkdir()
    (path / "model.ort").write_bytes(Random(1).randbytes(100))


def _translations(path: Path) -> None:
    translation = {
        "event": "translation", "stream": "talk", "segment": 0, "revision": 0, "is_final": True,
        "source": "Good morning.", "text": "Guten Morgen.", "tokens": [1], "start_s": 0.0, "end_s": 1.0,
        "arrival_s": 1.0, "ready_s": 1.1,
    }  # fmt: skip
    path.write_text(json.dumps(translation) + "\n")


_MAKERS: dict[str, Callable[[Path], object]] = {
    "adapter": lambda path: write_adapter(path, noise()),
    "captions": _events("captions"),
    "costs": _text('{"tokens": [1, 64], "ms": [1.0, 8.0]}\n'),
    "manifest": _text('{"file": "speech.wav", "text": "some words"}\n'),
    "model": _model,
    "pairs": _text("Good morning.\tGuten Morgen.\nGood night.\tGute Nacht.\n"),
    "partials": _events("partials"),
    "pipeline": _text(f'[input]\ncaptions = "{SAMPLES / "captions.jsonl"}"\n'),
    "settings": _text("[display]\nmask_k = 2\n"),
    "speech": _speech,
    "speech model": _speech_model,
    "template": _text('prompt = "Translate into German: {source}"\n'),
    "text": _text("Good morning.\nGood night.\n"),
    "trace": _text("{}\n"),
    "translations": _translations,
}
