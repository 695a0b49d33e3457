"""A trace as a self-contained page, without scripts and external requests."""

from pathlib import Path

import msgspec
from markupsafe import Markup

from connectors.files.atomic import write_whole
from flows.pages.document import packaged, policy, render
from flows.pages.trace.picture import safe, style_sheet
from flows.pages.trace.section import section
from flows.settings.schema import TranslateSettings
from operators.decoding.trace import Trace

# Settings that are shown even if they have their default values.
_ALWAYS = ("from", "to", "method", "accept")


def write_trace_page(trace: Trace, path: Path) -> None:
    """Write the page; raises `OutputError`."""
    write_whole(path, trace_page(trace).encode())


def trace_page(trace: Trace) -> str:
    """The page as HTML. The same trace gives the same page."""
    style = packaged("flows.pages", "page.css") + style_sheet()
    return render(
        "flows.pages.trace",
        "page.html",
        policy=policy(style),
        style=Markup(style),
        trace=trace,
        stream=safe(trace.stream),
        section=section(trace, 1),
        signature=signature(trace),
    )


def signature(trace: Trace) -> str:
    """The model, the method, and the settings that differ from their defaults."""
    usual: dict[str, object] = msgspec.to_builtins(TranslateSettings())
    told = "|".join(
        f"{name}:{value}"
        for name, value in trace.settings.items()
        if name in _ALWAYS or (value is not None and value != usual.get(name))
    )
    return safe(f"{trace.model}|{told}|surtitle:{trace.surtitle}")
