"""The report as a page for the browser: one file that needs nothing else."""
