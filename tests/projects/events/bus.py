"""Functions are as hot as the event that they wait for: what `fire("step")` runs is none of `fire("epoch")`."""

from collections import defaultdict


class Bus:
    def __init__(self):
        self.waiting = defaultdict(list)

    def on(self, event):
        def register(fn):
            self.waiting[event].append(fn)
            return fn

        return register

    def fire(self, event, **known):
        for fn in self.waiting[event]:
            fn(**known)


bus = Bus()

_CRITERIA = {}


def criterion(name=None):
    def register(fn):
        _CRITERIA[name or fn.__name__] = fn
        return fn

    return register


def criteria(names):
    return [_CRITERIA[name] for name in names]
