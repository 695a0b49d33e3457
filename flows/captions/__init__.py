"""The captions flow: its stages, the job, and the run of the command line.

As a pipeline job: ``python -m bytewax.run "flows.captions:flow('surtitle.toml')"``.
"""

from flows.captions.job import flow

__all__ = ["flow"]
