"""How much decoding leans towards its last output: as the settings say, or as suits the model."""

from typing import NamedTuple

from flows.settings.schema import TranslateSettings

#: Beta of the paper (Zeng et al., section 4).
BIAS = 0.2
#: The rule for models trained on unfinished text: its captions are better than the bias's at about the same
#: erasure or less. Higher prices erase even less, but keep drafts that lack a sentence's end
#: (docs/decoding.md).
WORTH = "worth-0.6"


class Leaning(NamedTuple):
    """The acceptance rules for draft tokens, by their names; the biases are those of the rule ``bias``."""

    accept: str
    bias: float
    #: The same for the last update of a segment.
    final_accept: str
    final_bias: float

    @property
    def is_biased(self) -> bool:
        """Whether the rule of unfinished segments uses the bias."""
        return self.accept == "bias"

    @property
    def finals_are_biased(self) -> bool:
        """Whether that of the last update does."""
        return self.final_accept == "bias"

    @property
    def finals_differ(self) -> bool:
        """Whether the last update is checked by another rule."""
        return self.final_accept != self.accept or (self.is_biased and self.final_bias != self.bias)

    def used(self) -> dict[str, str | float | None]:
        """The settings that have an effect; a bias that its rule does not use is None."""
        return {
            "accept": self.accept,
            "bias": self.bias if self.is_biased else None,
            "final_bias": self.final_bias if self.finals_are_biased else None,
        }


def leaning(settings: TranslateSettings, *, knows_unfinished: bool = False) -> Leaning:
    """The leaning for a model that was or was not trained on unfinished text."""
    is_left_open = settings.bias is None and settings.final_bias is None
    suited = WORTH if knows_unfinished and is_left_open else "bias"
    accept = suited if settings.accept == "auto" else settings.accept
    bias = BIAS if settings.bias is None else settings.bias
    if settings.final_bias is not None:
        return Leaning(accept, bias, accept, settings.final_bias)
    # The drafts of other models hold guesses that a bias would preserve in the final, but a final without any
    # leaning is a translation from scratch. Without a bias nothing leans.
    weighs = accept == "bias" and bias > 0.0 and not knows_unfinished
    return Leaning(accept, bias, WORTH if weighs else accept, bias)


def spell(leans: Leaning) -> str:
    """The rule in a few characters, with its biases if it uses them."""
    final = f"{leans.final_bias:g}" if leans.finals_are_biased else leans.final_accept
    return f"bias:{leans.bias:g}/{final}" if leans.is_biased else leans.accept
