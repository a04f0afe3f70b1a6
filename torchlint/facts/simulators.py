"""What simulators call on each of their steps: Isaac Lab, and the tasks of Isaac Gym, of many environments on one GPU; the leaderboard of CARLA, of an agent that drives.

https://isaac-sim.github.io/IsaacLab/main/source/api/lab/isaaclab.envs.html
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from . import names
from .module import Function
from .nodes import string
from .place import Place

_DIRECT = frozenset("_pre_physics_step _apply_action _get_observations _get_states _get_rewards _get_dones".split())
_OF_TASKS = frozenset(("pre_physics_step", "post_physics_step"))
STEPS: Mapping[str, frozenset[str]] = {
    "DirectRLEnv": _DIRECT,
    "DirectMARLEnv": _DIRECT,
    "VecTask": _OF_TASKS,
    "BaseTask": _OF_TASKS,
    "AutonomousAgent": frozenset(("run_step",)),
}
"""Methods that run on each step, by what a base of the class has in its name."""
_NAMES = frozenset[str]().union(*STEPS.values())
_ENDED = frozenset("reset resets done dones terminated truncated terminations timeouts".split())
"""Words in the names of masks of environments whose episode has ended."""
_MANAGED = frozenset(("ManagerBasedEnv", "ManagerBasedRLEnv"))
"""Environments that are put together of functions."""


def is_term(function: Function) -> bool:
    """Whether a function is an observation, a reward or an end of an episode: `def upright(env: ManagerBasedRLEnv) -> torch.Tensor:`.

    What is given the numbers of some environments runs where these are reset.
    """
    node = function.node
    if function.cls is not None or not isinstance(node, ast.FunctionDef) or not function.parameters:
        return False
    given, made = function.parameters[0].annotation, node.returns
    if given is None or made is None or "env_ids" in function.positions:
        return False
    return (string(given) or names.last(given)) in _MANAGED and names.last(made) == "Tensor"


def steps(place: Place) -> bool:
    """Whether a place runs on each step of a simulator's environments, by nothing else that is known."""
    caller, around = place.warm_caller or (None, None)
    return caller is not None and around is caller.node and (caller.name in _NAMES or is_term(caller))


def finds_ended(place: Place, mask: ast.expr) -> bool:
    """Whether a mask says which environments are to begin anew: `self.reset_buf`, `dones == 1`; what begins them asks for their numbers."""
    if isinstance(mask, ast.Compare):
        mask = mask.left
    return steps(place) and not _ENDED.isdisjoint(names.last(mask).lower().split("_"))
