"""Speech engines behind the small protocol of `operators.recognizers.protocol`."""
