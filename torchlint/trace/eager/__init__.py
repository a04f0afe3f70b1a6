"""The eager observation: operators one by one, on a virtual GPU, a real one or the CPU."""
