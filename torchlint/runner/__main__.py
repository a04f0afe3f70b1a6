"""`python -m torchlint.runner`: started by torchlint.prove.runs, not by people."""

from torchlint.runner.server import serve

if __name__ == "__main__":
    serve()
