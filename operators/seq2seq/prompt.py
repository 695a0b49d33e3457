"""The prompt of an encoder-decoder model: the source, its end, and the token that every output starts with.

A model with several target languages takes the language as a token before the source: ``>>deu<<``.
"""

from operators.errors import UsageError
from operators.languages import Direction, Language, is_language, language
from operators.prompts.prompt import EndOfTurn, Prompt
from operators.seq2seq.store import EncoderDecoder
from operators.seq2seq.vocabulary import LANGUAGE, PieceVocabulary

#: ISO 639-3 codes by the codes of `Language`. OPUS-MT uses either kind, some with a script or region.
_CODES = (
    "ar:ara zh:zho cs:ces da:dan nl:nld en:eng fi:fin fr:fra de:deu el:ell he:heb hi:hin hu:hun it:ita "
    "ja:jpn ko:kor no:nor pl:pol pt:por ro:ron ru:rus es:spa sv:swe tr:tur uk:ukr vi:vie "
    "af:afr bg:bul ca:cat eo:epo et:est ga:gle gl:glg id:ind lb:ltz lv:lav mk:mkd sq:sqi xh:xho"
)
_LONG = {pair[:2]: pair[3:] for pair in _CODES.split()}
#: Other codes for the same language, in order of preference.
_OTHERS = {"zh": ("cmn_Hans", "cmn", "zho_Hans"), "no": ("nob",), "ar": ("arb",), "zh-Hant": ("cmn_Hant",)}


#: Number of words that wait: these models translate even half a word fluently (docs/method.md).
HOLD_BACK = 1


class PairPrompt(Prompt):
    def source(self, text: str) -> tuple[int, ...]:
        assert isinstance(self.vocabulary, PieceVocabulary)
        return tuple(self.vocabulary.source.tokenize(self.lead + " ".join(text.split())))

    def spelled(self, source: tuple[int, ...]) -> str:
        assert isinstance(self.vocabulary, PieceVocabulary)
        return b"".join(map(self.vocabulary.source.piece, source)).decode(errors="replace").strip()

    def size(self, part: str) -> int:
        return len(self.source(part))


def pair_prompt(model: EncoderDecoder, direction: Direction) -> PairPrompt:
    """The prompt for one direction. Raises `UsageError` if the model does not translate it."""
    source, target = model.languages
    for name, wanted in ((source, direction.source), (target, direction.target)):
        # Names of groups, such as ROMANCE, are not names of a language.
        if name is not None and len(name) == 2 and is_language(name) and language(name) != wanted.general:
            raise UsageError(
                f"{model.path.name} translates {source} to {target}, not {direction}: "
                "change --from and --to, or choose another model"
            )
    return PairPrompt(
        vocabulary=model.vocabulary,
        head=_language_token(model, direction.target),
        lead=" ",
        tail=(model.ends[0], model.start),
        stop=EndOfTurn(model.vocabulary),
        joint=direction.target.script.joint,
        hold_back=HOLD_BACK,
        copies=True,
        # OPUS-MT's start token is the padding. Firefox's models have no padding, and their start is no token.
        pad=model.start if model.start < model.vocabulary_size else model.ends[0],
    )


def _language_token(model: EncoderDecoder, target: Language) -> tuple[int, ...]:
    known = {
        match[1]: number
        for piece, number in model.vocabulary.source.numbers.items()
        if (match := LANGUAGE.fullmatch(piece)) is not None
    }
    if not known:
        return ()
    target = target.general
    codes = (*_OTHERS.get(target.code, ()), _LONG.get(target.code, target.code), target.code)
    regional = [code for code in sorted(known) if code.startswith(tuple(f"{one}_" for one in codes))]
    for code in (*codes, *regional):
        if code in known:
            return (known[code],)
    raise UsageError(
        f"{model.path.name} does not translate to {target.name}, but to {', '.join(sorted(known))}: "
        "change --to, or choose another model"
    )
