"""The trace of every token of one segment, pass by pass, from which diagrams are drawn.

Santilli et al. (2023) draw the dependencies between tokens in this way (their DDGviz): a token that a pass
confirmed together with those before it did not have to wait for them. Compared with the output of greedy
decoding, the trace also shows which guesses were right before they were verified.
"""

from collections.abc import Sequence

import msgspec

from operators.decoding.forward import Origin


class LogitsRow(msgspec.Struct, frozen=True, omit_defaults=True):
    #: The model's most likely token, and its probability.
    choice: int
    p_choice: float
    #: The draft token offered at this place, if any; its probability.
    offered: int | None = None
    p_offered: float | None = None
    #: The token that this pass decided here; None if it decided nothing. Its probability.
    stands: int | None = None
    p_stands: float | None = None
    #: Whether the output ends here, by the model's choice.
    ends: bool = False


class Pass(msgspec.Struct, frozen=True):
    #: Place of the output that the first row predicts; tokens before it were known.
    begin: int
    #: All requested rows, including those after a rejected token.
    rows: tuple[LogitsRow, ...]
    #: Tokens evaluated, including the new part of the prompt.
    evaluated: int
    model_ms: float
    #: Tokens found in the cache; of these, those that were kept although the source before them has changed.
    reused: int = 0
    kept: int = 0
    #: The places of the output, in order, at which the model's choice in this pass is the reference's token,
    #: even if it was not accepted. None without a reference.
    right: tuple[int, ...] | None = None


class Token(msgspec.Struct, frozen=True):
    id: int
    origin: Origin
    #: Number of the pass that decided it, from 1 on; 0 if it was kept without a check.
    decided: int
    #: Its probability there; None if it was kept without a check.
    p: float | None


class Decoding(msgspec.Struct, frozen=True):
    """One window of a segment at one update. Without passes, its source had not changed."""

    prompt_tokens: int
    #: The last output, and how many of its tokens were committed.
    draft: tuple[int, ...]
    committed: int
    output: tuple[Token, ...]
    #: False if the output was cut at the limit of its length.
    finished: bool
    passes: tuple[Pass, ...]
    #: The output of greedy decoding from scratch, if it was compared with that.
    reference: tuple[int, ...] | None = None

    def known(self, number: int) -> int:
        """How many tokens of the output were decided when pass ``number`` was over, from 1 on."""
        return sum(token.decided <= number for token in self.output)

    def compared(self, reference: tuple[int, ...]) -> "Decoding":
        """A copy with the output of greedy decoding, and the places at which each pass agreed with it."""
        passes = tuple(
            msgspec.structs.replace(
                one,
                right=tuple(
                    place
                    for place, (row, token) in enumerate(
                        zip(one.rows, reference[one.begin :], strict=False), one.begin
                    )
                    if row.choice == token
                ),
            )
            for one in self.passes
        )
        return msgspec.structs.replace(self, passes=passes, reference=reference)


class UpdateTrace(msgspec.Struct, frozen=True):
    revision: int
    is_final: bool
    #: The recognised text, and its translation.
    source: str
    text: str
    #: One for each window; several only where the source is longer than the context.
    windows: tuple[Decoding, ...]

    @property
    def passes(self) -> list[Pass]:
        return [one for window in self.windows for one in window.passes]

    @property
    def tokens(self) -> list[Token]:
        return [token for window in self.windows for token in window.output]


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    #: Version of the file format.
    version: int = 1
    #: Version of the program.
    surtitle: str
    stream: str
    segment: int
    #: Name of the model's file.
    model: str
    #: Tokens of the prompt's head, which all segments share, and how often they were evaluated in the run.
    head_tokens: int = 0
    head_evaluations: int = 0
    #: The settings of the translate stage.
    settings: dict[str, str | int | float | bool | None]
    #: The text of each token that occurs; one that is not a whole character is spelled as bytes, ``<0xE2>``.
    pieces: dict[int, str]
    updates: tuple[UpdateTrace, ...]


def spelled(piece: bytes) -> str:
    """The text of a token; its bytes if it is not a whole character."""
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return "".join(f"<0x{byte:02X}>" for byte in piece)


def occurring(updates: Sequence[UpdateTrace]) -> set[int]:
    found: set[int] = set()
    for update in updates:
        found.update(token.id for token in update.tokens)
        for window in update.windows:
            found.update(window.draft, window.reference or ())
        for row in (row for one in update.passes for row in one.rows):
            found.update(token for token in (row.choice, row.offered, row.stands) if token is not None)
    return found
