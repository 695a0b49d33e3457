"""HTTP servers on threads of their own: who is admitted, request limits and timeouts."""
