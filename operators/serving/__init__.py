"""Many rooms on one model: scheduling their requests, and answering them in shared passes."""
