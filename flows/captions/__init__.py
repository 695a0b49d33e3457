"""The captions flow: its graph, the Bytewax job, and the runner for the command line.

As a pipeline job: ``python -m bytewax.run "flows.captions:flow('surtitle.toml')"``.
"""

from flows.captions.runner import flow

__all__ = ["flow"]
