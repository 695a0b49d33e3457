"""Names that other programs use for surtitle's settings."""

from collections.abc import Mapping

#: The settings to suggest for a key that does not exist, best first.
KEYS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("lang", "language", "target", "target_lang", "target_language"), ("translate.to", "rooms.to")
    ),
    **dict.fromkeys(("source", "source_lang", "source_language", "src"), ("translate.from", "rooms.from")),
    **dict.fromkeys(("file", "path", "recording", "wav"), ("input.audio", "output.captions")),
    **dict.fromkeys(("device", "mic"), ("input.microphone",)),
    **dict.fromkeys(("recogniser", "recognizer"), ("recognize.engine", "recognize")),
    **dict.fromkeys(("speech_model", "asr_model"), ("recognize.model",)),
    **dict.fromkeys(("beta",), ("translate.bias",)),
    **dict.fromkeys(("llm", "gguf"), ("translate.model",)),
    **dict.fromkeys(("bind", "address", "ip"), ("web.host",)),
    **dict.fromkeys(("subtitle", "subtitle_file"), ("output.srt",)),
    **dict.fromkeys(("translation", "translator", "decoding", "model"), ("translate",)),
    **dict.fromkeys(("asr", "recognition", "speech", "stt"), ("recognize",)),
    **dict.fromkeys(("server", "http", "page"), ("web",)),
    **dict.fromkeys(("logging", "logs"), ("messages",)),
    **dict.fromkeys(("prometheus", "monitoring"), ("metrics",)),
}  # fmt: skip
