"""Running hostile code for its outcome: host, worker, isolation, tracing."""
