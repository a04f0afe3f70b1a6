"""Which functions frameworks call on each step of a training, on each batch of an evaluation or step of a simulation, or once a run: nobody in the project may."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from typing import NamedTuple

from ..facts import handed_functions, names, simulators
from ..facts.collation import PLAIN_BASES
from ..facts.module import Class, Function
from ..facts.nodes import callee, is_constant
from ..facts.torch_table import (
    EVALUATION_STEPS,
    GENERATING_MODELS,
    OFF,
    OTHER_EVALUATION_STEPS,
    TOKEN_CALLS,
    TOKEN_METHODS,
)
from ..facts.values import FunctionValue
from ..system.regex import regex
from ..text.declared import defined_in
from ..text.finders import fact_of_files
from ..text.source import Source
from .project import Project

# Methods that a framework calls on each training step, by what a base of the class has in its name ("": any class).
_STEPS: Mapping[str, frozenset[str]] = {
    "": frozenset(
        """training_step train_step train_batch on_train_batch_start on_train_batch_end on_before_optimizer_step on_before_zero_grad
        on_before_backward on_after_backward before_train_iter after_train_iter forward_train loss_by_feat""".split()
    ),
    "LightningModule": frozenset(("optimizer_step", "optimizer_zero_grad", "configure_gradient_clipping")),
    "Trainer": frozenset(
        """compute_loss _compute_loss get_batch_loss_metrics concatenated_forward dpo_loss run_step preprocess_batch _iteration
        _generate_and_score_completions""".split()
    ),
    "Callback": frozenset(
        """on_step_begin on_step_end on_substep_end on_pre_optimizer_step on_optimizer_step _on_step before_batch
        after_pred after_loss before_backward after_backward before_step after_step after_batch on_batch_start on_batch_begin
        on_batch_end on_loss_begin on_backward_begin on_backward_end batch_start batch_end before_train_batch after_train_batch
        before_loss""".split()
    ),
    "Brain": frozenset(  # of SpeechBrain
        "compute_forward compute_objectives fit_batch on_fit_batch_start on_fit_batch_end".split()
    ),
    "Runner": frozenset(("handle_batch", "_handle_batch")),  # of Catalyst
    "NeuralNet": frozenset(("get_loss", "train_step_single")),  # of skorch
    "ComposerModel": frozenset(("loss",)),
    "MetricLossFunction": frozenset(("compute_loss",)),  # of pytorch-metric-learning
    "AugmentationBase": frozenset(("apply_transform",)),  # of Kornia
    "ROIHeads": frozenset("_forward_box _forward_mask _forward_keypoint label_and_sample_proposals".split()),
    "Hook": frozenset(("before_step", "after_step", "after_backward", "before_iter", "after_iter")),
    "Plugin": frozenset(
        """before_training_iteration after_training_iteration before_forward after_forward before_backward after_backward
        before_update after_update""".split()
    ),
    "Optimizer": frozenset(("step",)),
    "TrainModule": frozenset(("optim_step",)),  # of OLMo-core
}
_BATCH_HOOKS = frozenset(
    """on_validation_batch_start on_validation_batch_end on_test_batch_start on_test_batch_end
    on_predict_batch_start on_predict_batch_end""".split()
)
"""What Lightning calls around the evaluation steps, of the module and of callbacks."""
_TESTS = frozenset(("simple_test", "aug_test"))
# Methods that a framework calls on each batch of an evaluation or a prediction, for each token or on each step of a simulation, likewise ("": any module).
_BATCHES: Mapping[str, frozenset[str]] = {
    "": EVALUATION_STEPS | _BATCH_HOOKS,
    "Callback": _BATCH_HOOKS,
    "Hook": frozenset("before_val_iter after_val_iter before_test_iter after_test_iter".split()),
    "Plugin": frozenset("before_eval_iteration after_eval_iteration before_eval_forward after_eval_forward".split()),
    "Trainer": frozenset(("prediction_step",)),
    "Metric": frozenset(("update", "process", "_compute_tensor")),
    "Evaluator": frozenset(("process", "_iteration")),
    "Validator": frozenset(("preprocess", "postprocess", "update_metrics")),  # of Ultralytics
    "Brain": frozenset(("evaluate_batch",)),
    "ComposerModel": frozenset(("eval_forward", "update_metric")),
    "SchedulerMixin": frozenset(("step",)),  # of diffusers
    **dict.fromkeys(GENERATING_MODELS, TOKEN_METHODS),
    "Detector": _TESTS,
    "Segmentor": _TESTS,
    "Head": _TESTS | {"predict_by_feat"},
    **dict.fromkeys(TOKEN_CALLS, frozenset(("__call__",))),
    **simulators.STEPS,
}
# Methods that a framework calls once a run, at its start or its end, likewise.
_OF_LIGHTNING = frozenset(
    """on_fit_start on_fit_end on_train_start on_train_end on_sanity_check_start on_sanity_check_end setup teardown
    configure_optimizers configure_model prepare_data""".split()
)
_RUNS: Mapping[str, frozenset[str]] = {
    "LightningModule": _OF_LIGHTNING,
    "Callback": _OF_LIGHTNING | frozenset("on_init_end on_train_begin on_fit_begin before_fit after_fit".split()),
    "Hook": frozenset("before_run after_run before_train after_train".split()),
}


class _Library(NamedTuple):
    """What a library calls whose bases have plain names, by a text of the files that use it."""

    text: bytes
    base: str
    steps: frozenset[str]
    batches: frozenset[str] = frozenset()


_LIBRARIES = (
    _Library(b"basicsr", "Model", frozenset(("feed_data", "optimize_parameters")), frozenset(("test",))),
    _Library(b"rllib", "Policy", frozenset(("loss",))),
    _Library(b"rllib", "Learner", frozenset(("compute_loss_for_module",))),
)
_GIVEN_BATCH = frozenset(("training_step", "train_step", "train_batch"))
"""Those that a framework gives the batch; one that takes nothing is called by the program alone, however much it trains: `viewer.train_step()`."""
_ON_ITERATION = regex(r"\.ITERATION_(?:STARTED|COMPLETED)$")

_OF_OPTIMIZERS = frozenset(("step", "zero_grad"))
"""What a class defines that stands in for an optimizer, whatever its bases."""

STEP_NAMES = frozenset[str]().union(*_STEPS.values(), *(one.steps for one in _LIBRARIES))
_STEP_WORDS = frozenset(map(str.encode, STEP_NAMES | _OF_OPTIMIZERS))


def may_run_on_steps(project: Project, path: str) -> bool:
    """Whether a file may define what a framework calls on each training step, as far as texts tell."""
    defined = project.fact(path, "defines steps", _defined)
    if not defined:
        return False
    groups = [base for base, methods in _STEPS.items() if not methods.isdisjoint(defined)]
    groups += [one.base for one in _LIBRARIES if not one.steps.isdisjoint(defined)]
    return "" in groups or _OF_OPTIMIZERS.issubset(defined) or any(path in project.lineage_of(part) for part in groups)


@fact_of_files("defines steps")
def _defined(source: Source) -> list[str]:
    """The names of such methods that a file defines."""
    return sorted(name.decode() for name in source.fact("defined", defined_in) & _STEP_WORDS)


def runs_on_steps(project: Project, function: Function) -> bool:
    """Whether a framework calls a function on each training step."""
    if function.cls is not None and _is_named(project, function):
        return True
    return any(map(_handles_iteration, function.decorators)) or _differentiates_gradients(function)


def runs_on_batches(project: Project, function: Function) -> bool:
    """Whether a framework calls a function on each batch of an evaluation, or each step of a simulation."""
    klass = function.cls
    if klass is None:
        return _is_of_engine(function) or simulators.is_term(function) or handed_functions.keyword(function) is not None
    if _is_metric(function):
        return True
    if function.name in OTHER_EVALUATION_STEPS:
        return _has_train_step(project, function, klass)
    groups = [base for base, methods in _BATCHES.items() if function.name in methods]
    if "" in groups and (project.is_module(klass) or _is_of_trainer(project, function, klass)):
        return True
    named = [base for base in groups if base]
    named += [one.base for one in _LIBRARIES if function.name in one.batches and _is_used(one, function)]
    return bool(named) and _has_base(project, klass, named)


def _is_used(library: _Library, function: Function) -> bool:
    """Whether the file of a method holds the name of a library."""
    return function.module.source.holds(library.text)


def _is_metric(function: Function) -> bool:
    """Whether a callback is a metric of fastai 1, whose batches are those of the validation: `def on_batch_end(self, last_output, last_target, **kwargs):` beside `add_metrics(last_metrics, ...)`."""
    if function.name != "on_batch_end" or not {"last_output", "last_target"} <= function.positions.keys():
        return False
    return function.module.source.holds(b"add_metrics")


def runs_once(project: Project, function: Function) -> bool:
    """Whether a framework calls a method once a run, at its start or its end: `on_fit_start` of Lightning."""
    groups = [base for base, methods in _RUNS.items() if function.name in methods]
    return bool(groups) and function.cls is not None and _has_base(project, function.cls, groups)


def _is_of_trainer(project: Project, function: Function, klass: Class) -> bool:
    """Whether a trainer of a library, which calls a method for training steps as well, calls one for each batch: `class Solver(thsolver.Solver)`."""
    plain = all(project.has_plain_bases(one, PLAIN_BASES) for one in project.ancestry(klass))
    return not plain and _has_train_step(project, function, klass)


def _has_train_step(project: Project, function: Function, klass: Class) -> bool:
    """Whether a method that is given something stands beside one that a framework calls on each training step."""
    if len(function.parameters) <= function.is_method:
        return False
    return any(not _STEPS[""].isdisjoint(one.methods) for one in project.ancestry(klass))


def _is_of_engine(function: Function) -> bool:
    """`Engine(evaluate)` of ignite, which calls its function on each batch."""
    around = function.parent
    if around is None or not function.module.source.holds(b"ignite"):
        return False
    given = (call.args[0] for call in around.flow.calls_named("Engine") if call.args)
    return any(isinstance(one, ast.Name) and one.id == function.name for one in given)


def is_optimizer(project: Project, klass: Class) -> bool:
    """Whether a class is an optimizer."""
    return _has_base(project, klass, ("Optimizer",))


def is_tested(project: Project, function: Function) -> bool:
    """Whether a framework's loop of tests calls a function, with autograd off."""
    return function.name in _TESTS and runs_on_batches(project, function)


def _is_named(project: Project, function: Function) -> bool:
    assert function.cls is not None
    groups = [base for base, methods in _STEPS.items() if function.name in methods]
    groups += [one.base for one in _LIBRARIES if function.name in one.steps and _is_used(one, function)]
    if function.name == "step" and _OF_OPTIMIZERS.issubset(function.cls.methods):
        return True
    if "" in groups and not _is_left_to_program(project, function, function.cls):
        return True
    return bool(groups) and not _is_metric(function) and _has_base(project, function.cls, groups)


def _is_left_to_program(project: Project, function: Function, klass: Class) -> bool:
    """Whether no framework calls what is called like a step: `def train_step(self):` of a class that has no base but the project's own."""
    if function.name not in _GIVEN_BATCH or len(function.parameters) > function.is_method:
        return False
    return all(project.has_plain_bases(one, PLAIN_BASES) for one in project.ancestry(klass))


def _has_base(project: Project, klass: Class, parts: Collection[str]) -> bool:
    """Whether a base of a class has one of some words in its name."""
    return any(part in word for word in project.base_words(klass) for part in parts)


def _handles_iteration(decorator: ast.expr) -> bool:
    """`@trainer.on(Events.ITERATION_COMPLETED)`; with `(every=100)` behind it only now and then."""
    if not (isinstance(decorator, ast.Call) and names.last(decorator.func) == "on" and decorator.args):
        return False
    return _is_each_iteration(decorator.args[0])


def added_for_iterations(project: Project, function: Function) -> list[Function]:
    """The functions that a function has run on each iteration: `trainer.add_event_handler(Events.ITERATION_COMPLETED, log)`."""
    calls = [call for call in function.flow.calls_named("add_event_handler") if len(call.args) > 1]
    handlers = [project.value(function, call.args[1]) for call in calls if _is_each_iteration(call.args[0])]
    return [one.function for one in handlers if isinstance(one, FunctionValue) and one.function is not None]


def _is_each_iteration(event: ast.expr) -> bool:
    """`Events.ITERATION_COMPLETED`"""
    chain = names.chain(event)
    return chain is not None and _ON_ITERATION.search("." + ".".join(chain)) is not None


def _differentiates_gradients(function: Function) -> bool:
    """`autograd.grad(out, x, create_graph=True)`: a gradient that is part of a loss, whose backward pass is not in a loop around it."""
    backward = {loop for call in function.flow.calls_named("backward") for loop in function.flow.loops(call)}
    for call in function.flow.calls_named("grad"):
        if not backward.isdisjoint(function.flow.loops(call)):
            continue
        if any(names.last(callee(one)) in OFF for one in function.flow.contexts(call)):
            continue  # no loss is made of it there: it is shown
        if any(keyword.arg == "create_graph" and is_constant(keyword.value, True) for keyword in call.keywords):
            return True
    return False
