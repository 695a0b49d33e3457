"""Import this before anything that loads llama.cpp; raises `InputError` if that cannot run on this processor.

Importing llama_cpp loads its library; a library compiled for another processor may crash the process at that
point. So every entry point imports this module first.
"""

from connectors.machine.trial import require_library

require_library()
