"""Draws docs/structure.svg of a commit, docs/structure-before.svg of an earlier one; prints a table of both.

python docs/scripts/structure.py [--now HEAD] [--before 715173a]

Only what is committed counts. The tests of a folder are those at its path: tests/flows/cli for flows/cli.
"""

import argparse
import ast
import io
import subprocess
import tarfile
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from math import sqrt
from pathlib import Path
from subprocess import PIPE
from typing import NamedTuple

from markupsafe import Markup

from flows.pages.drawing import rect, tag, text

LAYERS = ("flows", "connectors", "operators")
#: Fewer imports than these are not drawn: from layer to layer, and inside a layer.
ACROSS, INSIDE = 5, 8
#: A folder has a row of its own in the table if its lines changed by this many.
CHANGED = 150
#: Folders that became part of others, which count for these in the table.
PARTS = {
    "flows/measuring": ("bench", "bench_drafts", "bench_rooms", "bench_speech", "loadgen"),
    "connectors": ("corpora", "recovery", "scoring", "view"),
}

#: Units of the picture: a square's side for each root of a line, a letter, from a name down to its square.
WIDTH, HEIGHT, MARGIN, SCALE, LETTER, BELOW = 1060, 715, 24.0, 1.15, 7.0, 22.0
#: The baselines of the names in each layer.
TOPS = dict(zip(LAYERS, (146.0, 346.0, 536.0), strict=True))
STYLE = """
svg {
  --ground: #ffffff; --ink: #1b1a17; --quiet: #625e55;
  --flows: #0072b2; --connectors: #c25400; --operators: #00805d;
}
@media screen and (prefers-color-scheme: dark) {
  svg {
    --ground: #16181b; --ink: #eceae5; --quiet: #aaa69d;
    --flows: #56b4e9; --connectors: #f08a4b; --operators: #3cc79c;
  }
}
text { font: 12px system-ui, sans-serif; fill: var(--ink) } .quiet { font-size: 11px; fill: var(--quiet) }
.title { font-size: 17px } .ground { fill: var(--ground) } .head { fill: var(--quiet) }
path { fill: none; stroke-opacity: 0.5 }
""" + "".join(
    f"rect.{one} {{ fill: var(--{one}) }} path.{one} {{ stroke: var(--{one}) }}\n" for one in LAYERS
)


class Structure(NamedTuple):
    """The folders of a commit: their lines, files, lines of tests, and the imports between them."""

    lines: Counter[str]
    files: Counter[str]
    tests: Counter[str]
    imports: Counter[tuple[str, str]]


def read(commit: str) -> Structure:
    """Count what a commit has."""
    command = ["git", "archive", commit, *LAYERS, "tests"]
    with tarfile.open(fileobj=io.BytesIO(subprocess.run(command, stdout=PIPE, check=True).stdout)) as tar:
        found = [(one.name, tar.extractfile(one)) for one in tar if one.name.endswith(".py")]
        sources = {name: file.read().decode() for name, file in found if file}
    packages = {"/".join(path.split("/")[:2]) for path in sources if path.count("/") > 1}

    def folder(parts: list[str]) -> str:
        """A package of a layer, or the layer's own modules."""
        own = "/".join(parts[:2])
        return own if own in packages else parts[0]

    counted = Structure(Counter(), Counter(), Counter(), Counter())
    for path, source in sources.items():
        parts, lines = path.split("/"), source.count("\n")
        if parts[0] == "tests":
            counted.tests[folder(parts[1:]) if parts[1] in LAYERS else "tests"] += lines
            continue
        counted.lines[folder(parts)] += lines
        counted.files[folder(parts)] += 1
        for module in chain.from_iterable(map(imported, ast.walk(ast.parse(source)))):
            target = folder(module.split("."))
            if layer(target) in LAYERS and target != folder(parts):
                counted.imports[folder(parts), target] += 1
    return counted


def imported(node: ast.AST) -> list[str]:
    """The modules that a statement imports."""
    match node:
        case ast.ImportFrom(module=str(module), names=names):
            return [f"{module}.{names[0].name}"]
        case ast.Import(names=names):
            return [one.name for one in names]
    return []


def layer(folder: str) -> str:
    """The layer of a folder."""
    return folder.partition("/")[0]


class Box(NamedTuple):
    """A package in the picture: the middle and the side of its square, the baseline of its name."""

    x: float
    side: float
    top: float

    @property
    def bottom(self) -> float:
        """Where its square ends."""
        return self.top + BELOW + self.side


def place(lines: Counter[str], row: str) -> tuple[dict[str, Box], list[float]]:
    """The boxes of a layer, and the channels between them: before each third box, and at both ends."""
    packages = sorted(one for one in lines if layer(one) == row and one != row)
    # Most packages import the layer's own modules: lines to the middle are the shortest.
    names = [*packages[: len(packages) // 2], row, *packages[len(packages) // 2 :]]
    slots = [max(SCALE * sqrt(lines[one]), LETTER * len(label(one))) for one in names]
    # A gap with a channel has one and a half times the width.
    gap = (WIDTH - 2 * MARGIN - sum(slots)) / (len(names) - 1 + 0.5 * ((len(names) - 1) // 3))
    boxes, channels, x = dict[str, Box](), [MARGIN / 2, WIDTH - MARGIN / 2], MARGIN
    for number, (name, slot) in enumerate(zip(names, slots, strict=True)):
        if number:
            wide = gap if number % 3 else 1.5 * gap
            x += wide
            if not number % 3:
                channels.append(x - wide / 2)
        boxes[name] = Box(x + slot / 2, SCALE * sqrt(lines[name]), TOPS[row])
        x += slot
    return boxes, channels


def label(folder: str) -> str:
    """What a folder is called in its layer."""
    return folder.partition("/")[2] or "modules"


def curve(x: float, y: float, bend: float, to_bend: float, to_x: float, to_y: float) -> str:
    """A curve that begins and ends vertically, and bends towards two heights between."""
    return f"M{x:.0f} {y:.0f}C{x:.0f} {bend:.0f} {to_x:.0f} {to_bend:.0f} {to_x:.0f} {to_y:.0f}"


def arrow(begin: Box, end: Box, channels: list[float]) -> tuple[str, tuple[float, float, int]]:
    """The path from a box to another and its head: down, through a channel of a layer between, or an arc."""
    x, y, above = begin.x, begin.bottom, end.top - 14
    down = above - 60
    head = end.x, above, 1
    if begin.top == end.top:
        rise = 12 + abs(end.x - x) / 22
        if begin.top < TOPS["operators"]:
            return curve(x, above, above - rise, above - rise, end.x, above), head
        # What the other layers import arrives above the names, so the arcs of the lowest layer are below.
        floor = end.top + BELOW + SCALE * 75 + rise
        return curve(x, y, floor, floor, end.x, end.bottom + 4), (end.x, end.bottom + 4, -1)
    if (begin.top, end.top) != (TOPS["flows"], TOPS["operators"]):
        return curve(x, y, y + 60, down, end.x, above), head
    by = min(channels, key=lambda one: abs(x - one) + abs(end.x - one))
    first, last = TOPS["connectors"] - 14, TOPS["connectors"] + 60
    into, out = curve(x, y, y + 60, first - 60, by, first), curve(by, last, last + 60, down, end.x, above)
    return f"{into}V{last}{out}", head


def draw(structure: Structure, when: str) -> str:
    """The picture as SVG."""
    placed = {row: place(structure.lines, row) for row in LAYERS}
    boxes = {name: box for row, _ in placed.values() for name, box in row.items()}
    title = f"surtitle {when}: {structure.lines.total():,} lines in {structure.files.total()} files"
    told = (
        "Area of a square: lines of Python. “modules”: the layer's own. Curves: imports, wider for more; "
        f"fewer than {ACROSS}, or {INSIDE} inside a layer, are not drawn."
    )
    parts = [rect(0, 0, WIDTH, HEIGHT, class_="ground"), text(MARGIN, 32, title, class_="title")]
    parts.append(text(MARGIN, 78, told, class_="quiet"))
    for number, row in enumerate(LAYERS):
        x, own = MARGIN + 275 * number, [one for one in structure.lines if layer(one) == row]
        counts = [sum(each[one] for one in own) for each in (structure.lines, structure.files)]
        words = "{}: {:,} lines in {} files".format(row, *counts)
        parts += [rect(x, 47, 11, 11, class_=row), text(x + 17, 57, words)]
    heads = set()
    for (source, target), count in sorted(structure.imports.items(), key=lambda one: one[1]):
        if count >= (INSIDE if layer(source) == layer(target) else ACROSS):
            path, head = arrow(boxes[source], boxes[target], placed["connectors"][1])
            parts.append(tag("path", d=path, class_=layer(source), stroke_width=0.35 * sqrt(count)))
            heads.add(head)
    for x, y, way in sorted(heads):
        points = f"{x - 4:.0f},{y - 3 * way:.0f} {x + 4:.0f},{y - 3 * way:.0f} {x:.0f},{y + 3 * way:.0f}"
        parts.append(tag("polygon", points=points, class_="head"))
    for name, (x, side, top) in boxes.items():
        parts += [
            rect(x - side / 2, top + BELOW, side, side, class_=layer(name), rx=2),
            text(x, top, label(name), text_anchor="middle"),
            text(x, top + 14, f"{structure.lines[name]:,}", class_="quiet", text_anchor="middle"),
        ]
    inner = tag("style", Markup(STYLE)) + Markup("\n").join(parts)
    named = {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img", "aria_label": title}
    return f"{tag('svg', inner, xmlns='http://www.w3.org/2000/svg', **named)}\n"


def table(before: Structure, now: Structure) -> str:
    """Each layer and the folders whose lines changed most, as Markdown."""

    def row(name: str, folders: Iterable[str]) -> str:
        pairs = [
            [sum(counted[one] for one in folders) for counted in pair]
            for pair in zip(before[:3], now[:3], strict=True)
        ]
        cells = [f"{old:,} → {new:,}" if old or new else "" for old, new in pairs]
        return f"| {name} | {' | '.join(cells)} |"

    rows = ["| folder | lines | files | lines of tests |", "|---|---|---|---|"]
    every = {*before.lines, *before.tests, *now.lines, *now.tests}
    joined = {name: [name, *(f"{layer(name)}/{one}" for one in parts)] for name, parts in PARTS.items()}
    for of in LAYERS:
        own = sorted(one for one in every if layer(one) == of)
        rows.append(row(f"**{of}**", own))
        for one in sorted({*own} - {name for names in joined.values() for name in names[1:]}):
            folders = joined.get(one, [one])
            if abs(sum(now.lines[name] - before.lines[name] for name in folders)) >= CHANGED:
                rows.append(row(f"`{one}/`" if one != of else f"`{of}/*.py`", folders))
    return "\n".join([*rows, row("other tests", ["tests"]), row("**all**", every)])


def main() -> None:
    """Read, draw, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--now", default="HEAD")
    parser.add_argument("--before", default="715173a")
    options = parser.parse_args()
    now, before = read(options.now), read(options.before)
    docs = Path(__file__).parent.parent
    for name, one, when in (("structure", now, "today"), ("structure-before", before, "before")):
        (docs / f"{name}.svg").write_text(draw(one, when))
    print(table(before, now))


if __name__ == "__main__":
    main()
