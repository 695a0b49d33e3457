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
    """The acceptance rule for draft tokens, by its name; the biases are those of the rule ``bias``."""

    accept: str
    bias: float
    final_bias: float

    @property
    def is_biased(self) -> bool:
        """Whether the rule uses the biases."""
        return self.accept == "bias"

    def used(self) -> dict[str, str | float | None]:
        """The settings that have an effect; a bias that the rule does not use is None."""
        if self.is_biased:
            return self._asdict()
        return {"accept": self.accept, "bias": None, "final_bias": None}


def leaning(settings: TranslateSettings, *, knows_unfinished: bool = False) -> Leaning:
    """The leaning for a model that was or was not trained on unfinished text."""
    bias, final_bias = settings.bias, settings.final_bias
    suited = WORTH if knows_unfinished and bias is None and final_bias is None else "bias"
    if bias is None:
        bias = BIAS
    if final_bias is None:
        # The drafts of other models hold guesses that a bias would preserve in the final.
        final_bias = bias if knows_unfinished else 0.0
    return Leaning(suited if settings.accept == "auto" else settings.accept, bias, final_bias)


def spell(leans: Leaning) -> str:
    """The rule in a few characters, with its biases if it uses them."""
    return f"bias:{leans.bias:g}/{leans.final_bias:g}" if leans.is_biased else leans.accept
