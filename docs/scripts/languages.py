"""Writes operators/languages.tsv, the table of languages, from Unicode's CLDR.

pip install babel==2.18.0
python docs/scripts/languages.py
"""

from pathlib import Path

from babel import Locale
from babel.core import get_global

#: Codes of CLDR: what the models of `surtitle models` are published for, and the larger ones of others.
CODES = """
af am an ar as ast az ba be bg bn bo br bs ca ceb cs cy da de el en eo es et eu fa fi fil fo fr ga gd gl gu ha
he hi hr ht hu hy id ig is it ja jv ka kk km kn ko ku ky lb lo lt lv mg mi mk ml mn mr ms mt my ne nl nn no oc
or pa pl ps pt ro ru rw sd si sk sl so sq sr su sv sw ta te tg th ti tk tr tt ug uk ur uz vi wo xh yi yo yue
zh zh_Hant zu
"""

#: Scripts of ISO 15924 by Unicode's names.
SCRIPTS = {
    "Arab": "Arabic", "Armn": "Armenian", "Beng": "Bengali", "Cyrl": "Cyrillic", "Deva": "Devanagari",
    "Ethi": "Ethiopic", "Geor": "Georgian", "Grek": "Greek", "Gujr": "Gujarati", "Guru": "Gurmukhi",
    "Hans": "Han,Bopomofo", "Hant": "Han,Bopomofo", "Hebr": "Hebrew", "Jpan": "Han,Hiragana,Katakana",
    "Khmr": "Khmer", "Knda": "Kannada", "Kore": "Hangul,Han", "Laoo": "Lao", "Latn": "Latin",
    "Mlym": "Malayalam", "Mymr": "Myanmar", "Orya": "Oriya", "Sinh": "Sinhala", "Taml": "Tamil",
    "Telu": "Telugu", "Thai": "Thai", "Tibt": "Tibetan",
}  # fmt: skip
#: Scripts that are in use besides the likely one.
OTHER_SCRIPTS = {
    "az": ["Cyrl"], "bs": ["Cyrl"], "kk": ["Latn"], "ku": ["Arab"], "mn": ["Mong"], "ms": ["Arab"],
    "pa": ["Arab"], "sr": ["Latn"], "tk": ["Cyrl"], "uz": ["Cyrl"], "sd": ["Deva"],
}  # fmt: skip
SCRIPTS |= {"Mong": "Mongolian"}

#: Names that models are trained on, where CLDR prefers another.
ENGLISH = {"bn": "Bengali"}
#: Names that people type besides those of CLDR.
OTHER_NAMES = {
    "bn": ["Bangla"],
    "zh": ["Mandarin", "Hanyu", "Simplified Chinese", "Chinese (Simplified)"],
    "zh_Hant": ["Chinese (Traditional)"],
    "nl": ["Flemish"],
    "he": ["iw"],
    "no": ["nb", "Bokmål", "Norwegian Bokmål", "Nynorsk"],
    "es": ["Castilian", "Castellano"],
    "fil": ["tl", "Tagalog"],
    "fa": ["Farsi"],
    "id": ["in"],
    "ms": ["Bahasa Melayu"],
    "my": ["Myanmar"],
    "ca": ["Valencian"],
    "ro": ["Moldavian", "Moldovan"],
    "yi": ["ji"],
    "ku": ["Kurmanji"],
}


def row(code: str) -> str:
    """The columns of one language: code, English name, Chinese name, own name, scripts, other names."""
    english, chinese = Locale("en").languages, Locale("zh").languages
    # A language that CLDR has no texts in is not named in itself there.
    own = Locale.parse(code).languages.get(code, "") if _has_texts(code) else ""
    tag = get_global("likely_subtags").get(code, code).split("_")
    likely = next((one for one in tag if one in SCRIPTS), "Latn")
    scripts = ",".join(SCRIPTS[one] for one in [likely, *OTHER_SCRIPTS.get(code, [])])
    return "\t".join(
        [
            code.replace("_", "-"),
            ENGLISH.get(code, english[code]),
            chinese[code],
            own,
            scripts,
            ",".join(OTHER_NAMES.get(code, [])),
        ]
    )


def _has_texts(code: str) -> bool:
    try:
        Locale.parse(code)
    except ValueError:
        return False
    return True


def main() -> None:
    """Write the table."""
    rows = sorted((row(code) for code in CODES.split()), key=lambda one: one.split("\t")[1])
    head = "# docs/scripts/languages.py: code, names in English, Chinese and itself, scripts, others"
    table = Path(__file__).parents[2] / "operators" / "languages.tsv"
    table.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
