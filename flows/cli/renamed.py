"""Options and commands of earlier releases: a message names the replacement; the options still work."""

import json
import shlex
from collections.abc import Collection, Iterator, Sequence

from connectors.messages import log_event
from operators.errors import UsageError

#: The setting that replaces each option; for a switch, with its value.
RENAMED = {
    "--accept": "translate.accept",
    "--addresses": "run.addresses",
    "--beam": "translate.beam",
    "--bias": "translate.bias",
    "--captions-folder": "rooms.folder",
    "--close-unfinished": "translate.close_unfinished=true",
    "--commit": "translate.commit",
    "--context": "translate.context",
    "--draft-length": "translate.draft_length",
    "--draft-model": "translate.draft_model",
    "--draft-threshold": "translate.draft_threshold",
    "--draft-tree": "translate.draft_tree=true",
    "--every-update": "translate.keep_up=false",
    "--final-bias": "translate.final_bias",
    "--finals-only": "translate.finals_only=true",
    "--from-captions": "input.captions",
    "--from-partials": "input.partials",
    "--from-translations": "input.translations",
    "--heads": "translate.heads",
    "--hold-back": "translate.hold_back",
    "--keep": "translate.keep",
    "--keep-up": "translate.keep_up=true",
    "--log": "output.log",
    "--log-format": "messages.format",
    "--mask-k": "display.mask_k",
    "--method": "translate.method",
    "--metrics": "metrics.listen",
    "--no-close-unfinished": "translate.close_unfinished=false",
    "--no-draft-tree": "translate.draft_tree=false",
    "--no-keep": "translate.commit=0",
    "--obs": "output.obs",
    "--offline": "translate.offline",
    "--process": "run.process",
    "--profile": "run.profile=true",
    "--replace": "display.replace",
    "--room-keys": "rooms.keys",
    "--rooms": "translate.rooms",
    "--save-audio": "output.audio",
    "--save-captions": "output.captions",
    "--save-partials": "output.partials",
    "--save-sentences": "output.sentences",
    "--save-translations": "output.translations",
    "--sentences": "sentences.method",
    "--silence": "rooms.silence_s",
    "--sink": "output.sinks",
    "--skip-bad": "input.skip_bad=true",
    "--strip-punctuation": "translate.strip_punctuation=true",
    "--subtitles": "output.subtitles",
    "--summary": "output.summary",
    "--template": "translate.template",
    "--threads": "translate.threads",
    "--track": "input.track",
    "--webhook": "output.webhook",
    "--workers": "run.workers",
    "--youtube": "output.youtube",
}
#: The replacement of each command.
COMMANDS = {"bench-drafts": "bench --task drafts", "bench-speech": "bench --task speech"}
_LISTS = ("--addresses", "--sink")


def in_new_form(arguments: Sequence[str], known: Collection[str]) -> list[str]:
    """Replace options of earlier releases by ``--set``, unless the command has them (``known``)."""
    return list(_renamed(iter(arguments), known))


def _renamed(arguments: Iterator[str], known: Collection[str]) -> Iterator[str]:
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if argument == "--":
            yield from (argument, *arguments)
        elif name in known or name not in RENAMED:
            yield argument
        else:
            # Imported here, because the import is slow and rarely needed.
            from flows.settings.loading import REMOVED

            setting, typed = RENAMED[name], name
            if setting in REMOVED:
                raise UsageError(f"there is no {name} any more; {REMOVED[setting]}")
            if "=" not in setting:
                value = value if equals else next(arguments, "")
                typed = f"{name} {value}"
                if name in _LISTS:
                    value = json.dumps(value.split(",") if name == "--addresses" else [value])
                setting = f"{setting}={value}"
            if "://" in value:  # addresses may hold secrets
                typed, shown = name, f"{RENAMED[name]}=ADDRESS"
            else:
                shown = shlex.quote(setting)
            log_event("option_renamed", f"{typed} is now --set {shown}")
            yield from ("--set", setting)
