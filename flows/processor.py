"""Imported before what loads llama.cpp; raises `InputError` if that does not run on this processor.

Importing llama_cpp loads its library, and one that was compiled for another processor may end the process
even then. So whatever can be started imports this module first.
"""

from connectors.machine.trial import require_library

require_library()
