"""Rules run over files: candidates, findings, workers."""
