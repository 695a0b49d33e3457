"""``surtitle bench-drafts``: its options, and what it prints and writes."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from connectors.files.distinct import check_distinct, named_files
from flows.measuring.subjects import Json, Limit, Markdown, Skip, subject
from flows.settings.lists import floats, integers
from flows.settings.loading import load_settings
from flows.settings.options import MODEL, Overrides, takes
from flows.settings.translate import TranslateSettings
from operators.errors import UsageError

# The default for a Whisper model.
_SPEECH_THREADS = 2
#: More words than any line of a text has.
_MAX_WORDS = 1_000_000


@subject("bench-drafts")
@takes(MODEL)
def bench_drafts(
    overrides: Overrides,
    source: Annotated[
        list[Path] | None,
        typer.Argument(help="A text (one sentence per line) or partials (JSONL); recordings for speech."),
    ] = None,
    draft_model: Annotated[
        str | None,
        typer.Option(
            help="The model that drafts: a GGUF file with the same vocabulary; for speech a Whisper folder."
        ),
    ] = None,
    speech_model: Annotated[
        Path | None,
        typer.Option(help="Transcribe recordings instead, with the Whisper model in this folder."),
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(help="Replay trajectories from a file instead of decoding.")
    ] = None,
    lengths: Annotated[
        str, typer.Option(help="Draft lengths of plain speculative decoding, in tokens.")
    ] = "8,16",
    beamed: Annotated[str, typer.Option(help="Draft lengths with two beams.")] = "8",
    thresholds: Annotated[
        str, typer.Option(help="Probabilities below which adaptive drafts stop or branch.")
    ] = "0.2,0.4,0.6,0.8",
    draft_length: Annotated[
        int, typer.Option(min=1, max=256, help="Maximum length of adaptive drafts.")
    ] = TranslateSettings().draft_length,
    branches: Annotated[int, typer.Option(min=1, max=16, help="Branches of a tree.")] = 2,
    reach: Annotated[
        int, typer.Option(min=1, max=64, help="Maximum length of a branch that does not rejoin the trunk.")
    ] = 3,
    ratio: Annotated[
        str, typer.Option(help="More costs to replay at: a pass of the model in steps of the draft model.")
    ] = "6.1,8.8,11.8",
    limit: Limit = None,
    skip: Skip = 0,
    json: Json = None,
    markdown: Markdown = None,
    trajectories: Annotated[
        Path | None, typer.Option(help="Write the trajectories, round by round (JSONL), for --replay.")
    ] = None,
) -> None:
    """Compare ways of drafting with a draft model: rounds, steps, accepted tokens, and time.

    Texts are translated, or utterances transcribed, from scratch, without a last output as a draft. All ways
    give the same output.
    """
    # Imported here because other commands do not need it and should start fast.
    from flows.measuring.corpus import load_corpus
    from flows.measuring.drafts.results import encode, read_drafts, results_of
    from flows.measuring.drafts.run import Sweep, run_drafts
    from flows.measuring.results import publish
    from operators.research.prediction import Prediction

    settings = load_settings(None, overrides).translate
    sweep = Sweep(
        integers("--lengths", lengths),
        integers("--beamed", beamed),
        floats("--thresholds", thresholds),
        Prediction(length=draft_length, branches=branches, reach=reach),
    )
    ratios = floats("--ratio", ratio)
    if min([*sweep.lengths, *sweep.beamed]) < 1 or min(ratios) <= 0:
        raise UsageError("--lengths, --beamed and --ratio: give numbers above 0")
    sources = source or []
    outputs = [("--json", json), ("--markdown", markdown), ("--trajectories", trajectories)]
    # The draft model of speech is a folder.
    folder = None if speech_model is None or draft_model is None else Path(draft_model)
    models = named_files(settings.model, settings.template, draft_model)
    check_distinct(outputs, [*sources, replay, speech_model, folder, *models])
    if replay is not None:
        if sources or draft_model is not None:
            raise UsageError("--replay decodes nothing; leave out the source and --draft-model")
        made = read_drafts(replay)
    elif not sources or draft_model is None:
        raise UsageError("there is nothing to decode; give a source and --draft-model, or --replay")
    elif speech_model is not None:
        from flows.measuring.drafts.run import SpeechPair, run_speech_drafts

        threads = settings.threads or _SPEECH_THREADS
        spoken = settings.source
        pair = SpeechPair(sources, speech_model, Path(draft_model), spoken, threads, skip, limit)
        made = run_speech_drafts(pair, sweep)
    elif len(sources) > 1:
        raise UsageError("one text can be translated at a time; to transcribe recordings, add --speech-model")
    else:
        # Only the last update of each segment is decoded, so the growth of a text does not matter.
        corpus = load_corpus(sources[0], None, lag=_MAX_WORDS, skip=skip, limit=limit)
        count = len(corpus.segments)
        corpus = corpus._replace(name=f"{sources[0].name}|finals|segments:{skip + 1}-{skip + count}")
        made = run_drafts(corpus, replace(settings, draft_model=draft_model), sweep)
    written = [(trajectories, lambda: encode(made))]
    publish(results_of(made, ratios), json=json, markdown=markdown, others=written)
