"""The commands that measure: ``bench`` with its tasks, and ``loadgen``."""
