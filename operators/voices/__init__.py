"""Who speaks: voices of a stream, told apart by embeddings of their sound."""
