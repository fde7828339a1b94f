"""The method: encodings, embeddings, distances, the vote, losses, samplers."""
