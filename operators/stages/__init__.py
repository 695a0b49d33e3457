"""The stages of a flow: Bytewax operators, each of which turns one kind of event into another."""
