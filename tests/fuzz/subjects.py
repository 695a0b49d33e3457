"""Everything that reads what others wrote, by name."""

from tests.fuzz import messages, reading, remembered, requests, sound, speech
from tests.fuzz.correct import Subject

SUBJECTS: dict[str, Subject] = {
    "access": requests.ACCESS,
    "bench": reading.BENCH,
    "connection": requests.CONNECTION,
    "dictionary": reading.DICTIONARY,
    "glossary": reading.GLOSSARY,
    "journal": remembered.JOURNAL,
    "lines": reading.LINES,
    "messages": messages.MESSAGES,
    "model": sound.MODEL,
    "recording": sound.RECORDING,
    "replay": reading.REPLAY,
    "report": reading.REPORT,
    "run": remembered.RUN,
    "sentences": speech.SENTENCES,
    "settings": reading.SETTINGS,
    "template": reading.TEMPLATE,
    "costs": remembered.COSTS,
}
