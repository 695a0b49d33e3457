"""Names that other programs use for surtitle's commands and options."""

from collections.abc import Mapping

#: What to type instead of a command that does not exist, without ``surtitle``.
COMMANDS: Mapping[str, str] = {
    **dict.fromkeys(("mic", "microphone", "listen", "record", "stream", "start", "run", "captions"), "live"),
    **dict.fromkeys(("browser", "web", "overlay", "obs"), "live --web"),
    **dict.fromkeys(
        (
            "audio",
            "caption",
            "convert",
            "recording",
            "subtitle",
            "subtitles",
            "transcribe",
            "translate",
            "wav",
        ),
        "file",
    ),
    **dict.fromkeys(("events", "jsonl", "partials", "play"), "replay"),
    **dict.fromkeys(("rooms", "serve-rooms", "server", "host"), "serve"),
    **dict.fromkeys(("cluster", "flow", "kafka", "pipeline", "worker"), "job"),
    **dict.fromkeys(
        ("device", "inputs", "list", "list-devices", "list-inputs", "microphones", "mics"), "devices"
    ),
    **dict.fromkeys(("check", "diagnose", "env", "health", "info", "status", "test"), "doctor"),
    **dict.fromkeys(("benchmark", "compare", "eval", "evaluate", "measure", "speed"), "bench"),
    **dict.fromkeys(("analyse", "analyze", "latency", "stats", "summary"), "report"),
    **dict.fromkeys(("bench-asr", "bench-recognizer", "bench-stt"), "bench-speech"),
    **dict.fromkeys(("load", "load-test", "stress"), "loadgen"),
    **{name: f"model {name}" for name in ("align", "assemble", "distill", "heads", "prune", "train")},
    **dict.fromkeys(("finetune", "fine-tune", "lora"), "model train"),
    **dict.fromkeys(("?", "commands", "help", "usage"), "--help"),
}

#: Options to suggest for one that does not exist, best first; the first one that the command has is meant.
OPTIONS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "dest", "dst", "lang", "language", "languages", "out-lang", "output-language", "target",
            "target-lang", "target-language", "t", "tgt", "tgt-lang", "tl", "to-lang", "to-language",
            "translate-to",
        ),
        ("--to",),
    ),
    **dict.fromkeys(
        (
            "from-lang", "from-language", "in-lang", "input-language", "sl", "source", "source-lang",
            "s", "source-language", "spoken", "spoken-language", "src", "src-lang", "speech-language",
        ),
        ("--from",),
    ),
    **dict.fromkeys(
        ("audio-device", "input-device", "mic", "microphone", "microphone-index", "sound-device", "d"),
        ("--device",),
    ),
    **dict.fromkeys(("capture", "i", "in", "input"), ("--device",)),
    **dict.fromkeys(("gguf", "llm", "model-path", "model-file", "m", "translator", "mt-model"), ("--model",)),
    **dict.fromkeys(
        ("asr", "asr-engine", "backend", "engine", "recogniser", "stt", "speech-engine"), ("--recognizer",)
    ),
    **dict.fromkeys(
        ("asr-model", "recognizer-model", "stt-model", "vosk-model", "whisper-model"), ("--speech-model",)
    ),
    **dict.fromkeys(("o", "out", "output", "output-file", "write"), ("--output", "--srt", "--json")),
    **dict.fromkeys(("subs", "subtitle", "subtitle-file"), ("--srt",)),
    **dict.fromkeys(("webvtt",), ("--vtt",)),
    **dict.fromkeys(("f", "format", "output-format"), ("--srt", "--json")),
    **dict.fromkeys(("c", "conf", "config", "config-file", "configuration", "toml"), ("--settings",)),
    **dict.fromkeys(("browser", "http", "overlay", "obs", "webpage"), ("--web",)),
    **dict.fromkeys(("address", "bind", "ip", "listen"), ("--host",)),
    **dict.fromkeys(("http-port", "p", "web-port"), ("--port",)),
    **dict.fromkeys(("prometheus", "metrics-port"), ("--metrics",)),
    **dict.fromkeys(("cores", "cpus", "j", "jobs", "n-threads", "num-threads"), ("--threads",)),
    **dict.fromkeys(("beta",), ("--bias",)),
    **dict.fromkeys(("mask", "wait-k", "k"), ("--mask-k",)),
    **dict.fromkeys(("policy", "decoding", "strategy"), ("--method",)),
    **dict.fromkeys(("prompt", "prompt-template", "chat-template"), ("--template",)),
    **dict.fromkeys(("assistant-model", "draft", "speculative-model"), ("--draft-model",)),
    **dict.fromkeys(("checkpoint", "resume", "state"), ("--recovery",)),
    **dict.fromkeys(("live", "real-time"), ("--realtime",)),
    **dict.fromkeys(("q", "silent"), ("--quiet",)),
    **dict.fromkeys(("log-file", "logfile"), ("--log",)),
    **dict.fromkeys(("json-logs", "log-json"), ("--log-format",)),
    **dict.fromkeys(("record", "save", "wav"), ("--save-audio",)),
    **dict.fromkeys(("transcript", "save-transcript", "save-text"), ("--save-partials",)),
    **dict.fromkeys(("brokers", "bootstrap-servers", "topic"), ()),
}  # fmt: skip

#: Options of other programs for which surtitle has a command.
INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("devices", "list-devices", "list-inputs", "list-microphones"), "surtitle devices"),
    **dict.fromkeys(("benchmark", "bench"), "surtitle bench"),
    **dict.fromkeys(("check", "diagnose", "doctor"), "surtitle doctor"),
}

#: Options that other programs have for what surtitle takes without an option.
ARGUMENTS = frozenset(
    ("audio", "events", "file", "i", "in", "infile", "input", "input-file", "path", "recording", "wav")
)
