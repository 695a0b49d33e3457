"""The middle of surtitle: events, and one module per stage that turns one event into the next."""
