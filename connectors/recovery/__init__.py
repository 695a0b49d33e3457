"""What a run stores on disk so that it can be killed and resumed."""
