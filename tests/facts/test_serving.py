"""Which functions answer requests."""

from __future__ import annotations

import pytest

from torchlint.facts import serving
from torchlint.facts.module import Module
from torchlint.text.source import Source


def module(code: str) -> Module:
    return Module(Source.of("server.py", code.encode()), "server", False)


@pytest.mark.parametrize(
    ("code", "name", "expected"),
    [
        ("import fastapi\n@app.post('/x')\ndef f(): pass\n", "f", True),
        ("from flask import Flask\n@app.route('/x')\ndef f(): pass\n", "f", True),
        ("import gradio as gr\ndef f(x): pass\ngr.Interface(fn=f)\n", "f", True),
        ("class TritonPythonModel:\n    def execute(self, r): pass\n", "TritonPythonModel.execute", True),
        ("class TritonPythonModel:\n    def initialize(self, r): pass\n", "TritonPythonModel.initialize", False),
        ("import fastapi\n@app.on_event('startup')\ndef f(): pass\n", "f", False),
        ("import fastapi\n@property\ndef f(): pass\n", "f", False),
        ("import torch\n@registry.get('x')\ndef f(): pass\n", "f", False),
        ("import gradio as gr\ndef f(x): pass\nprint(f)\n", "f", False),
    ],
)
def test_handlers(code: str, name: str, expected: bool) -> None:
    found = next(function for function in module(code).functions if function.qualname == name)

    assert expected is serving.is_handler(found)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from fastapi import FastAPI\napp = FastAPI()\n", True),
        ("import uvicorn\nuvicorn.run(app)\n", True),
        ("import fastapi\n", False),
        ("import subprocess\nsubprocess.run('x')\n", False),
    ],
)
def test_files_that_serve(code: str, expected: bool) -> None:
    assert expected is serving.serves(module(code))
