"""The commands that measure: ``surtitle bench``, ``bench-drafts``, ``bench-speech`` and ``loadgen``.

What runs them is imported inside: other commands do not need it, and should start fast.
"""

import os
from pathlib import Path
from threading import Event as Flag
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace

from connectors.files.distinct import check_distinct, named_files
from flows.measuring.plan import BenchJob, Json, Limit, Markdown, Skip, make_plan, read_grid
from flows.observe.audience import TOKEN_VARIABLE
from flows.settings.loading import Overrides, load_settings, warn_of_unused_bias
from flows.settings.options import (
    CaptionsOnly,
    From,
    Glossary,
    Model,
    Recognizer,
    Set,
    SettingsFile,
    SpeechModel,
    To,
    floats,
    given_in,
    integers,
    shares,
    words,
)
from flows.settings.schema import Settings
from flows.settings.translate import TranslateSettings
from operators.errors import InputError, SurtitleError, UsageError
from operators.extras import needs_extra
from operators.recognizers.part import RECOGNIZERS, USUAL

if TYPE_CHECKING:
    from flows.measuring.load.rows import Target

# The default for a Whisper model.
_SPEECH_THREADS = 2
# More words than any line of a text has.
_MAX_WORDS = 1_000_000
_MAX_ROOMS = 1000


def bench(
    context: typer.Context,
    text: Annotated[
        Path, typer.Argument(help="A text (one segment per line), or partials (JSONL).", metavar="SOURCE")
    ],
    to: To = None,
    source: From = None,
    model: Model = None,
    reference: Annotated[Path | None, typer.Option(help="Its translation, line by line.")] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="Values of a setting to measure: translate.method=ssbd,jacobi or translate.bias=0,0.2; "
            "again for other settings, whose values are crossed.",
            metavar="KEY=VALUES",
        ),
    ] = None,
    lag: Annotated[int, typer.Option(min=1, help="Number of words that each update adds to a text.")] = 3,
    limit: Limit = None,
    skip: Skip = 0,
    repeat: Annotated[int, typer.Option(min=1, help="Number of timed runs.")] = 3,
    json: Json = None,
    markdown: Markdown = None,
    paper: Annotated[bool, typer.Option("--paper", help="The tables of the SSBD paper.")] = False,
    comet: Annotated[Path | None, typer.Option(help="A COMET checkpoint to score with.")] = None,
    likelihood: Annotated[
        bool, typer.Option("--likelihood", help="Also score all outputs with the model itself.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over even if an earlier run was interrupted.")
    ] = False,
    set_: Set = None,
) -> None:
    """Compare decoding methods: speed, quality, erasure.

    Settings that are not varied have surtitle's defaults. An interrupted run resumes when started again.
    """
    from flows.measuring.bench import benchmark
    from flows.measuring.paper import GRIDS

    grid = read_grid(vary or ())
    plan = make_plan(given_in(context).get("translate", {}), [grid, *(GRIDS if paper else ())])
    methods = {one.method for one in plan.variants[1:]}
    if any(grid.get("heads", ())) and "heads" not in methods:
        raise UsageError("--vary heads has no effect without the method; add --vary method=heads")
    warn_of_unused_bias(grid, methods, grid.get("accept", ("auto",)))
    job = BenchJob(
        text, reference, lag, limit, skip, repeat, json, markdown,
        paper=paper, comet=comet, likelihood=likelihood, fresh=fresh,
    )  # fmt: skip
    benchmark(job, plan)


def bench_drafts(
    context: typer.Context,
    sources: Annotated[
        list[Path],
        typer.Argument(help="A text (one sentence per line) or partials (JSONL); recordings for speech."),
    ],
    draft_model: Annotated[
        str,
        typer.Option(
            help="The model that drafts: a GGUF file with the same vocabulary; for speech a Whisper folder."
        ),
    ],
    to: To = None,
    source: From = None,
    model: Model = None,
    whisper: Annotated[
        Path | None,
        typer.Option(
            "--speech-model", help="Transcribe recordings instead, with the Whisper model in this folder."
        ),
    ] = None,
    lengths: Annotated[
        str, typer.Option(help="Draft lengths of plain speculative decoding, in tokens.")
    ] = "8,16",
    beamed: Annotated[str, typer.Option(help="Draft lengths with two beams.")] = "8",
    thresholds: Annotated[
        str, typer.Option(help="Probabilities below which adaptive drafts stop or branch.")
    ] = "0.2,0.4,0.6,0.8",
    ratio: Annotated[
        str, typer.Option(help="More costs to count at: a pass of the model in steps of the draft model.")
    ] = "6.1,8.8,11.8",
    limit: Limit = None,
    skip: Skip = 0,
    json: Json = None,
    markdown: Markdown = None,
    set_: Set = None,
) -> None:
    """Compare ways of drafting with a draft model: rounds, steps, accepted tokens, and time.

    Texts are translated, or utterances transcribed, from scratch, without a last output as a draft. All ways
    give the same output.
    """
    from flows.measuring.corpus import load_corpus
    from flows.measuring.draft_tables import results_of
    from flows.measuring.drafts import SpeechPair, Sweep, run_drafts, run_speech_drafts
    from flows.measuring.results import publish
    from operators.research.prediction import Prediction

    settings = load_settings(None, given_in(context)).translate
    sweep = Sweep(
        integers("--lengths", lengths),
        integers("--beamed", beamed),
        floats("--thresholds", thresholds),
        Prediction(length=settings.draft_length, branches=2),
    )
    ratios = floats("--ratio", ratio)
    if min([*sweep.lengths, *sweep.beamed]) < 1 or min(ratios) <= 0:
        raise UsageError("--lengths, --beamed and --ratio: give numbers above 0")
    # The draft model of speech is a folder.
    folder = None if whisper is None else Path(draft_model)
    models = named_files(settings.model, settings.template, draft_model)
    check_distinct([("--json", json), ("--markdown", markdown)], [*sources, whisper, folder, *models])
    if whisper is not None:
        threads = settings.threads or _SPEECH_THREADS
        spoken = settings.source
        pair = SpeechPair(sources, whisper, Path(draft_model), spoken, threads, skip, limit)
        made = run_speech_drafts(pair, sweep)
    elif len(sources) > 1:
        raise UsageError("one text can be translated at a time; to transcribe recordings, add --speech-model")
    else:
        # Only the last update of each segment is decoded, so the growth of a text does not matter.
        corpus = load_corpus(sources[0], None, lag=_MAX_WORDS, skip=skip, limit=limit)
        count = len(corpus.segments)
        corpus = corpus._replace(name=f"{sources[0].name}|finals|segments:{skip + 1}-{skip + count}")
        made = run_drafts(corpus, replace(settings, draft_model=draft_model), sweep)
    publish(results_of(made, ratios), json=json, markdown=markdown)


def bench_speech(
    audio: Annotated[list[Path], typer.Argument(help="Recordings (wav or flac).")],
    reference: Annotated[
        Path | None, typer.Option(help="Their transcripts: JSON lines with 'file' and 'text'.")
    ] = None,
    speech_model: Annotated[
        Path | None, typer.Option(help="Folder of the speech model.", show_default="moonshine's English one")
    ] = None,
    recognizer: Annotated[str, typer.Option(help="moonshine or whisper.")] = USUAL.engine,
    spoken: Annotated[
        str, typer.Option("--from", help="Language of the speech.")
    ] = TranslateSettings().source,
    bias: Annotated[
        str, typer.Option(help="Biases towards the last hypothesis, 0 to 1.")
    ] = f"0,{USUAL.bias}",
    certainty: Annotated[
        str, typer.Option(help="Minimum probabilities of the last word shown of unfinished speech.")
    ] = f"0,{USUAL.certainty}",
    settings: SettingsFile = None,
    json: Json = None,
) -> None:
    """Compare ways to recognise speech: time, errors, erasure.

    Each recording is decoded as fast as possible; all ways take turns on each of its windows.
    """
    from flows.measuring.corpus import read_clips
    from flows.measuring.results import publish
    from flows.measuring.speech import SpeechJob, run_speech

    windowed = [one.name for one in RECOGNIZERS.values() if one.is_windowed]
    if recognizer not in windowed:
        raise UsageError(f"--recognizer: {recognizer!r} cannot be measured; choose {' or '.join(windowed)}")
    biases, certainties = shares("--bias", bias), shares("--certainty", certainty)
    check_distinct([("--json", json)], [*audio, reference, speech_model, settings])
    clips = read_clips(audio, reference)
    wanted = load_settings(settings).recognize
    job = SpeechJob(
        clips, recognizer, speech_model, spoken, biases, certainties,
        wanted.update_interval_s, wanted.threads or _SPEECH_THREADS,
    )  # fmt: skip
    publish(run_speech(job), json=json)


def loadgen(
    context: typer.Context,
    recording: Annotated[
        Path, typer.Argument(help="What each room says: a wav or flac file, or partials (JSONL).")
    ],
    to: To = None,
    source: From = None,
    model: Model = None,
    glossary: Glossary = None,
    captions_only: CaptionsOnly = False,
    recognizer: Recognizer = None,
    speech_model: SpeechModel = None,
    server: Annotated[
        str | None,
        typer.Option(help="Address of a server of rooms.", show_default="straight into the flow, here"),
    ] = None,
    rooms: Annotated[str, typer.Option(help="Numbers of rooms, one after the other.")] = "1,4",
    seconds: Annotated[float, typer.Option(min=0.5, max=86_400, help="Seconds that they speak.")] = 30.0,
    server_metrics: Annotated[
        str | None,
        typer.Option(help="Metrics of the server, with its memory: http://HOST:PORT/metrics."),
    ] = None,
    json: Json = None,
    set_: Set = None,
) -> None:
    """Let many rooms speak at once, and measure how late their captions come, what is dropped, and memory.

    Every room repeats the recording at its own pace, from a different position. With --server, --to may name
    several languages, and SURTITLE_WEB_TOKEN holds the server's token.
    """
    from flows.measuring.load.playback import Load
    from flows.measuring.load.rows import measured, table
    from flows.measuring.results import Results, files_of, publish, running
    from flows.measuring.signature import sign

    overrides = given_in(context)
    numbers = integers("--rooms", rooms)
    if any(not 1 <= number <= _MAX_ROOMS for number in numbers):
        raise UsageError(f"--rooms: give numbers from 1 to {_MAX_ROOMS}")
    wanted = load_settings(None, overrides if server is None else {})
    heard = Path(wanted.recognize.model) if wanted.recognize.model else None
    check_distinct([("--json", json)], [recording, heard, *files_of(wanted.translate)])
    rows, failure = list[dict[str, Any]](), list[SurtitleError]()
    with running() as runner:
        if server is not None:
            target = _server(overrides, recording, server, server_metrics, runner.stop)
        else:
            target = _flow(wanted, recording, max(numbers), runner.stop)
        for number in numbers:
            runner.doing(f"{number} rooms speak for {seconds:g} seconds", None)
            try:
                rows.append(measured(target, Load(number, seconds)))
            except SurtitleError as error:
                # What was measured before is worth a table.
                failure.append(error)
            runner.go_on()
            if failure:
                break
    if rows:
        publish(Results(sign(recording=recording.name), {"rows": rows}, [table(rows)]), json=json)
    if failure:
        raise failure[0]
    if cut := sum(row["cut"] for row in rows):
        rooms_were = "1 room was" if cut == 1 else f"{cut} rooms were"
        raise InputError(f"{rooms_were} cut off before the last caption; see what the server reports")


def _flow(settings: Settings, recording: Path, rooms: int, stop: Flag) -> "Target":
    from flows.engine.recognition import check_recognizer
    from flows.measuring.load.flow import flow_target
    from flows.measuring.load.playback import chunks, partials, read_partials, read_sound
    from operators.events import AudioChunk, Partial

    if recording.suffix.lower() in (".wav", ".flac"):
        check_recognizer(settings.recognize, spoken=settings.translate.source, is_live=True)
        sound = read_sound(recording)
        return flow_target(settings, lambda load: chunks(sound, load), AudioChunk, rooms, stop)
    said = read_partials(recording)
    return flow_target(settings, lambda load: partials(said, load), Partial, rooms, stop)


def _server(overrides: Overrides, recording: Path, server: str, metrics: str | None, stop: Flag) -> "Target":
    from flows.measuring.load.playback import read_sound

    with needs_extra("web", "--server"):
        from flows.measuring.load.server import server_target
    to = overrides.get("translate", {}).get("to")
    languages = tuple(words("--to", to)) if to else ()
    token = os.environ.get(TOKEN_VARIABLE)
    return server_target(server, read_sound(recording), languages, token, metrics, stop)
