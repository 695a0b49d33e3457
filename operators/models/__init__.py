"""Language models behind the interface of `operators.decoding`."""

import os

# OpenMP's threads spin while they wait for each other. If another program needs a core too, a token then
# takes up to fifty times as long. Threads that sleep after some microseconds of spinning lose nothing on a
# quiet machine and little on a busy one (8e8a84cd:docs/decoding.md). OpenMP reads this when
# llama.cpp is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
