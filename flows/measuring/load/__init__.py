"""``surtitle loadgen``: lets many rooms speak in real time, and measures the delay of their captions."""
