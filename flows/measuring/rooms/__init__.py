"""``surtitle bench-rooms``: many live rooms on one model, measured and simulated."""
