"""Writes finished sentences as plain text, one a line, or as Markdown, one a paragraph."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from typing_extensions import override

from connectors.files.sink import FilePartition, FileSink, FileState
from connectors.files.watch import OutputWatch
from connectors.sinks.part import SinkPart
from operators.events import Caption
from operators.languages import ENGLISH, Language
from operators.speakers import Turns, introduced, shown_name
from operators.subtitles.writer import Shown

# What Markdown would interpret: inside a line, and at its beginning.
_OBEYED = re.compile(r"[\\`*_<>\[\]&|~$]|^(?:[#+=-]|\d+(?=[.)]))")


class _TextPartition(FilePartition[Caption]):
    """The file; its state has the last speaker."""

    def __init__(self, turns: Turns, *given: Any) -> None:
        super().__init__(*given)
        self._turns = turns

    @override
    def snapshot(self) -> FileState:
        return replace(super().snapshot(), speaker=self._turns.last)


class TextSink(FileSink[Caption]):
    """Appends the text of each final caption as a line; takes pairs of a key, which is ignored, and captions.

    With ``both``, the line of the speech comes before that of its translation, and an empty one after it. A
    file that ends in ``.md`` becomes Markdown, in which the speech above its translation is a quotation.
    Where the speaker changes, the name comes before the text.

    Delivery: exactly once with recovery into a regular file, as for `FileSink`.

    Args:
        times: Whether each sentence begins with the time of its speech: ``[00:12:31]``.
        language_of: Gives the language of a caption's text, and thereby of *Speaker 1*.
    """

    def __init__(
        self,
        path: Path,
        shown: Shown = "target",
        *,
        times: bool = False,
        language_of: Callable[[Caption], Language] = lambda _caption: ENGLISH,
        watch: OutputWatch | None = None,
    ) -> None:
        super().__init__(path, self._lines, watch=watch)
        self._turns, self._language_of = Turns(), language_of
        self._shown: Shown = shown
        self._times = times
        self._is_markdown = path.suffix.lower() == ".md"

    @override
    def partition(self, state: FileState | None) -> FilePartition[Caption]:
        self._turns = Turns(state.speaker if state else "")
        return _TextPartition(self._turns, self.path, self._lines, b"", state, self._watch)

    def _lines(self, caption: Caption, _number: int) -> bytes:
        texts = {"source": caption.source, "target": caption.text}
        lines = [" ".join(text.split()) for kind, text in texts.items() if self._shown in (kind, "both")]
        if not caption.is_final or not any(lines):
            return b""
        if self._is_markdown:
            lines = [_OBEYED.sub(_escaped, line) for line in lines]
        if self._turns.begins(caption):
            language = self._language_of(caption)
            name = shown_name(caption.speaker, language)
            shown = f"**{_OBEYED.sub(_escaped, name)}**" if self._is_markdown else name
            lines[0] = introduced(shown, lines[0], language)
        if self._times:
            minutes, second = divmod(int(caption.start_s), 60)
            lines[0] = f"[{minutes // 60:02}:{minutes % 60:02}:{second:02}] {lines[0]}"
        if self._is_markdown:
            lines[:-1] = [f"> {line}\n" for line in lines[:-1]]
        ends = "\n\n" if self._is_markdown or len(lines) > 1 else "\n"
        return ("\n".join(lines) + ends).encode()


def _escaped(obeyed: re.Match[str]) -> str:
    # A number is interpreted because of the mark after it, which is escaped instead.
    return f"{obeyed[0]}\\" if obeyed[0].isdigit() else f"\\{obeyed[0]}"


txt = SinkPart("txt", TextSink, "captions", shows=True, switches=("times",), names=True)
