"""Speech engines behind the interface of `operators.recognizers.protocol`."""

import os

# Read when ONNX Runtime is imported. By default it stores a device id and reports usage to Microsoft.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
