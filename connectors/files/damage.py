"""The errors for a damaged JSON file that surtitle wrote itself and something else changed."""

import msgspec

#: What msgspec raises for invalid bytes; two of its errors are Python's own.
DAMAGED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
