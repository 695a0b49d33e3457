"""Prints and writes the results of ``surtitle loadgen``."""

from pathlib import Path

from connectors.files.whole import write_whole
from flows.loadgen.plot import plot
from flows.loadgen.rows import table
from flows.loadgen.run import LoadResults
from flows.pages.results import print_results, write_json


def publish(results: LoadResults, json: Path | None, picture: Path | None) -> None:
    """Print the table, and write the requested files. Raises `OutputError`."""
    write_json(json, results)
    if picture is not None:
        write_whole(picture, plot(results.rows).encode())
    print_results([table(results.rows)], results.signature, (json, picture))
