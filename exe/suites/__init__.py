"""Other benchmarks' files in, our sets out."""
