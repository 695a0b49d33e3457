"""The stages of a flow: Bytewax operators, each of which makes one kind of event of another."""
