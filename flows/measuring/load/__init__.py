"""``surtitle loadgen``: many rooms that speak at their own pace, and how late their captions come."""
