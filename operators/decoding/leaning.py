"""What a translation leans towards: the terms and words of a source, in the vocabulary of a prompt."""

from collections.abc import Sequence
from functools import lru_cache

from operators.decoding.terms import Lean, Spelling, Term
from operators.glossary import Glossary, words_of
from operators.lexicon import Dictionary, Translation
from operators.prompts.prompt import Prompt

#: Towards a user's terms, and the copies of names, which the model has to begin by itself. These and
#: `_of_word` were chosen by measurement (docs/glossary.md).
TERM = Lean(5.0, 8.0)
NAME = Lean(0.0, 4.0)


class Leaning:
    """Finds the terms of a source."""

    def __init__(self, prompt: Prompt, glossary: Glossary | None, dictionary: Dictionary | None) -> None:
        """The terms of the ``glossary`` come before the words of the ``dictionary``."""
        self._prompt = prompt
        self._glossary = glossary
        self._dictionary = dictionary
        # Updates repeat the words of the one before.
        self._spelling = lru_cache(4096)(self._spell)

    def terms(self, text: str) -> Sequence[Term]:
        """What the translation of ``text`` should contain."""
        terms = []
        words: Sequence[str | None] = words_of(text)
        if self._glossary is not None:
            for target, times in self._glossary.occurring(text):
                terms.append(Term(((self._spelling(target), TERM),), times))
            words = self._glossary.others(words_of(text))
        if self._dictionary is not None:
            for translations, times, is_name in self._dictionary.occurring(words):
                leans = [NAME if is_name else _of_word(one) for one in translations]
                spellings = [self._spelling(one.text) for one in translations]
                terms.append(Term(tuple(zip(spellings, leans, strict=True)), times))
        return terms

    def _spell(self, text: str) -> Spelling:
        vocabulary, joint = self._prompt.vocabulary, self._prompt.joint
        bare = tuple(vocabulary.tokenize(text))
        return Spelling(text, tuple(vocabulary.tokenize(joint + text)) if joint else bare, bare)


def _of_word(translation: Translation) -> Lean:
    """The lean towards a dictionary's translation of a word."""
    return Lean(1.0 + translation.probability, 3.0)
