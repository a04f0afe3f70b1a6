"""What the operating system gives: files, signals, streams, faults."""
