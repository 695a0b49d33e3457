"""Events in topics of Kafka: one JSON object per message, as in a line of a file; the key is the stream."""
