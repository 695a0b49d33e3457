"""Speech engines behind the small protocol of `operators.recognizers.protocol`."""

import os

# Read when ONNX Runtime is imported: it would keep a device id and tell Microsoft how models are used.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
