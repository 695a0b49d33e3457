"""What is wrong with a file of JSON that surtitle wrote itself, and that something else has changed since."""

import msgspec

#: What msgspec raises of bytes that are not what they should be: it leaves two of its errors to Python.
DAMAGED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
