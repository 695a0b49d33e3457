"""What a benchmark asks of other programs, and the journal of its trials."""
