"""``surtitle reproduce``: the runs that a paper's tables need, by its protocol."""

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from connectors.files.output import make_folder
from connectors.machine.resources import good_threads
from flows.measuring import blockwise, jacobi, ssbd
from flows.measuring.bench import bench_texts
from flows.measuring.corpus import is_partials
from flows.measuring.measured import Paper
from flows.measuring.plan import USUAL, BenchJob, BenchRun, Grid, bench_runs
from flows.running.progress import ProgressLine
from flows.settings.loading import load_settings
from flows.settings.options import words
from operators.errors import UsageError
from operators.extras import needs_extra
from operators.languages import Direction

#: The papers: each module has the protocol's ``NAME``, its ``TABLES``, and makes them by ``paper_tables``.
_PAPERS: dict[str, ModuleType] = {"ssbd": ssbd, "jacobi": jacobi, "blockwise": blockwise}


def reproduce(
    paper: str,
    job: BenchJob,
    common: dict[str, Any],
    references: Sequence[str],
    tables: str | None,
    folder: Path,
) -> None:
    """Measure the ``tables`` of a paper, all by default, and write page, figures and outputs into a folder.

    Args:
        common: The settings of the translate stage; ``model`` may name several, ``to`` several languages.
        references: As in `bench_runs`.
        tables: Their names, with commas between.

    Raises:
        UsageError: for a table that is not in the paper, and for missing settings.
    """
    module = _PAPERS[paper]
    wanted = [*module.TABLES] if tables is None else words("--tables", tables)
    if unknown := [one for one in wanted if one not in module.TABLES]:
        raise UsageError(f"--tables: there is no {unknown[0]}; choose from {', '.join(module.TABLES)}")
    texts: list[Path | None] = [*job.sources] or [None]
    if paper == "ssbd":
        runs = _of_ssbd(texts, with_own_weights(common, folder), references, wanted)
    else:
        # Whole sentences, each translated once.
        job = job._replace(lag=None)
        of_each = _of_jacobi if paper == "jacobi" else _of_blockwise
        runs = of_each(texts, common, references, wanted)
    make_folder(folder)
    files = {name: folder / name for name in ("figures.json", "page.md", "outputs.jsonl", "trials")}
    job = job._replace(
        json=files["figures.json"], markdown=files["page.md"], outputs=files["outputs.jsonl"],
        trials=files["trials"],
    )  # fmt: skip
    bench_texts(job, runs, Paper(module.NAME, wanted, module.paper_tables))


def with_own_weights(common: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Replace models that others have converted by files made from the makers' own weights.

    A file is made once, in ``folder``: the weights are downloaded, converted and quantised.
    """
    weights: dict[str, tuple[str, str]] = ssbd.published()["weights"]
    models = words("--model", str(common.get("model", USUAL.model)))
    for place, name in enumerate(models):
        if name not in weights:
            continue
        repository, kind = weights[name]
        file = folder / f"{name}.{kind}.gguf"
        if not file.is_file():
            with needs_extra("train", "converting weights"):
                from connectors.models.convert import convert
            make_folder(folder)
            with ProgressLine(quiet=False, captions=False) as line:
                convert(repository, file, kind, line.doing)
        models[place] = str(file)
    return {**common, "model": ",".join(models)}


def _of_ssbd(
    texts: Sequence[Path | None], common: dict[str, Any], references: Sequence[str], wanted: Sequence[str]
) -> list[BenchRun]:
    common = ssbd.common_settings(common)
    directions = load_settings(None, {"translate": common}, takes_several=True).translate.directions
    shown = next((one for one in directions if one.target.code == "zh"), directions[0])
    first = words("--model", str(common.get("model", USUAL.model)))[0]

    def is_recorded(text: Path | None) -> bool:
        return text is not None and is_partials(text)

    def grids(text: Path | None, model: str, direction: Direction) -> list[Grid]:
        is_shown = model == first and direction == shown
        return ssbd.grids_of(ssbd.tables_of(wanted, is_recorded=is_recorded(text), is_shown=is_shown))

    runs = bench_runs(texts, common, references, grids)
    if len(texts) == 1:
        return runs
    # The references are for the text, not for recorded partials.
    return [one._replace(reference=None) if is_recorded(one.source) else one for one in runs]


def _of_jacobi(
    texts: Sequence[Path | None], common: dict[str, Any], references: Sequence[str], wanted: Sequence[str]
) -> list[BenchRun]:
    """With one thread and with one on each core (figure 3), unless a number is given."""
    threads = [common["threads"]] if "threads" in common else sorted({1, good_threads()})
    return [
        run
        for number in threads
        for run in bench_runs(
            texts, {**common, "threads": number}, references, lambda *_run: jacobi.grids_of(wanted)
        )
    ]


def _of_blockwise(
    texts: Sequence[Path | None], common: dict[str, Any], references: Sequence[str], wanted: Sequence[str]
) -> list[BenchRun]:
    own = {key: value for key, value in common.items() if key != "heads"}
    if "heads" not in common:
        raise UsageError(
            "the proposal heads of the model are missing: make them with 'surtitle model heads', and name "
            "their file with --set translate.heads=FILE"
        )
    return bench_runs(texts, own, references, lambda *_run: blockwise.grids_of(wanted, str(common["heads"])))
