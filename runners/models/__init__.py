"""One file a provider behind one small protocol."""
