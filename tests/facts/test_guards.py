"""What a condition says about how often the code behind it runs."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts import guards
from torchlint.facts.module import Function, Module
from torchlint.facts.values import Value
from torchlint.program.project import Project


@pytest.fixture
def meaning(last_of: Callable[[Module], tuple[Function, ast.expr]]) -> Callable[..., str]:
    """What is known of the place `here` in the body of a loop over steps."""

    def ask(code: str, before: str = "") -> str:
        body = "".join(f"        {line}\n" for line in code.splitlines())
        head = "".join(f"    {line}\n" for line in before.splitlines())
        text = f"def f(args, step, loader):\n{head}    for i, batch in enumerate(loader):\n{body}"
        project = Project({"example.py": lambda: text.encode()})
        module = project.module("example.py")
        assert module is not None
        function, node = last_of(module)

        def value(expression: ast.expr) -> Value:
            return project.value(function, expression)

        loop = function.flow.loops(node)[-1]
        found = [guards.meaning(guard, function.flow, value) for guard in function.flow.guards(node, loop)]
        return " ".join(dict.fromkeys(filter(None, found)))

    return ask


Meaning = Callable[..., str]


@pytest.mark.parametrize(
    "condition",
    [
        "use_amp",
        "args.clip_grad",
        "loss > 3",
        "step > args.warmup_steps",
        "per_sample_mode",
        "not vis",
        "vis > 3",  # the visible ones
        "self.log_space",
        "return_log_probs",
        "args.do_sample",
        "self.max_target_backup",
        "self.backup_entropy",
        "self.negative_sampling",
        "step >= hp.discriminator_train_start_steps",
        "self.total_steps > self.random_steps",
        "batch['log_probs']",
        "args['clip']",
        "not args['log_norms']",
        "args[log]",
        "config.get(verbose)",
        "cfg.get('log_norms', True)",
        "cfg.get('clip_norms', default)",
        "self.cfg.get('check_for_nan', True)",
        "x is None",
        "rank == 0",
        "args.local_rank == 0",
        "is_main_process",
        "accelerator.is_main_process",
        "rank == 0 and use_amp",
        "world_size > 1",
        "not debug",  # on as a rule
        "cfg.model.enable",
        "cfg.tensorboard.enable",  # a writer is there on each step
        "cfg.tensorboard",
        "args.use_wandb",
        "args.report_to_wandb",
        "self.log_to_tensorboard",
        "wandb_log",
        "not args.log",
        "step % 10",  # nine times of ten
        "step % 10 != 0",
        "not step % 10 == 0",
        "step % 2 == 0",
        "step % 2 in (0, 1)",
        "step % 10 not in (0, 1)",
        "step % 4 == 0",
        "i % 1 == 0",
        "(i + 1) % 4 == 0",
        "step != 0",
        "i > 0",
        "i < 1000",
        "i < len(loader)",
        "step > warmup_epochs * len(loader)",
        "mode == 'train'",
        "kind in ('a', 'b')",
        "loss in (1, 2)",
        "kind in kinds",
        "i not in thresholds",
        "'%d' % step == name",
        "steps",
        "num_steps > 3 or use_amp",
        "a or log_step",
        "step % 100 == 0 or True",
        "torch.compiler.is_compiling()",
        "torch.isfinite(loss)",
        "not torch.isnan(loss).any()",
        "get_step() == 'last'",
        "model.training",
        "scheduler",
        "1 < step < 5",
        "items[0]",
        "step == 'first'",
        "step - start != 1",
        "width - step == 1",
        "width + 1 == step.size",
        "step + other == len(loader)",
        "step + 1 != len(loader)",
        "step & 1 == 0",
        "step & 100 == 0",
        "step & 127",
        "step & 127 != 0",
        "flags & 127 == 0",
        "random.random() < 0.5",
        "random.random() > 0.1",
        "np.random.rand() < p",
        "random.randint(0, 1) < 0.1",
        "self.random.choice(x) < 0.1",
        "time.time() < last + 10",
        "time.time() > start",
        "len(x) > last + 10",
        "step % 10 == 0 or x == 600",
        "step % 10 == 0 or step != 600",
        "step % 10 == 0 or step > 600",
        "epoch > warmup_epoch",
        "epoch >= last_epoch",
        "epoch != last_epoch",
        "epoch < last_epoch",
        "loss > last_loss",
        "step > last_epoch",
    ],
)
def test_conditions_that_may_hold_on_every_step(meaning: Meaning, condition: str) -> None:
    assert "" == meaning(f"if {condition}:\n    here")


@pytest.mark.parametrize(
    "condition",
    [
        "step - shown > args.log_steps",
        "save_sample",
        "args.log_norm",
        "log_every_scale",
        "args.sample_images",
        "since > args.show_start",
        "count >= args.eval_start_steps",
        "step % 10 == 0",
        "0 == step % 10",
        "i % args.log_interval == 0",
        "(step + 1) % args.print_freq == 0",
        "i % every == 0",
        "not step % 10",
        "not (step % 10)",
        "not (step % 10 != 0)",
        "step % 10 == 0 and rank == 0",
        "rank == 0 and step % 10 == 0",
        "rank == 0 and not step % 10",
        "step % 10 == 0 or step == last",
        "images % 10 == 0 or images == 600",
        "self.data.epoch > last_epoch",
        "epoch != self.prev_epoch",
        "last_epoch < current_epoch",
        "step % 100 < 3",
        "step % 100 in (0, 1)",
        "step % 12000 in list(range(1, 1 + args.accumulate)) or finished_training",
        "step % n > 7",
        "step == 0",
        "get_num_updates() == 0",
        "i == warmup_steps",
        "i == len(loader) - 1",
        "warmup_steps == i",
        "batch_idx == 0",
        "not i != 0",
        "step - start == 1",
        "self.step - loaded_step == 1",
        "i < 3",
        "i <= 10",
        "i < 100",
        "step in (10, 100, 1000)",
        "step in milestones_to_log",
        "i in thresholds.keys()",
        "step in args.milestones",
        "step in [i - 1 for i in cfg.eval_steps]",
        "step in {i - 1 for i in cfg.eval_steps} or step == max_steps - 1",
        "time.time() - last > 10",
        "10 < time.time() - last",
        "time.perf_counter() - last > 10",
        "time.perf_counter() > last + 10",
        "last + args.period <= time.time()",
        "step + 1 == len(loader)",
        "len(loader) == i + 1",
        "step & 127 == 0",
        "0 == (step & 1023)",
        "random.random() < 0.01",
        "np.random.rand() <= 0.1",
        "random.random() > 0.99",
        "verbose",
        "backup",
        "do_backup",
        "debug",
        "args.debug",
        "vis",
        "self.show and rank == 0",
        "args.debug is True",
        "args['log_norms']",
        "self.config.get('verbose', False)",
        "args['watch_regex']",
        "init",
        "init is True",
        "cfg.vis_mask.enable",
        "self.cfg.VIS_MASK.ENABLE",
        "config.trainer.profile.enabled",
        "safe_merge",
        "args.verbose >= 2",
        "log_level > 1",
        "elapsed > log_interval",
        "logging_enabled",
        "should_log",
        "should_log()",
        "logger.should_log(step)",
        "is_last",
        "args.save_images",
        "config.eval_every",
        "self.is_last_step()",
        "(now := step % 10 == 0)",
        "log_step and use_amp",
        "do_print or verbose",
        "done",
    ],
)
def test_conditions_that_hold_once_in_many_steps(meaning: Meaning, condition: str) -> None:
    assert "throttled" == meaning(f"if {condition}:\n    here")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("if step % 10:\n    continue\nhere", "throttled"),
        ("if step % 10 != 0:\n    continue\nhere", "throttled"),
        ("if not verbose:\n    continue\nhere", "throttled"),
        ("if step == 0:\n    continue\nhere", ""),
        ("if step % 10 == 0:\n    other()\nelse:\n    here", ""),
        ("if step % 10 != 0:\n    other()\nelse:\n    here", "throttled"),
        ("if step % 10:\n    other()\nelse:\n    here", "throttled"),
        ("if step == 0:\n    other()\nelif verbose:\n    here", "throttled"),
        ("if self.opt.upsample_steps > 0:\n    here", ""),
        ("if num_steps >= 1:\n    here", ""),
        ("if log_steps > 0:\n    here", "throttled"),
        ("num_steps += 1\nif num_steps > 0:\n    here", "throttled"),
        ("if not (use_amp or step % 10 == 0):\n    here", ""),
        ("if not (use_amp or step % 10 != 0):\n    here", "throttled"),
        ("if not (step % 10 == 0 and use_amp):\n    here", ""),
        ("if accelerator.sync_gradients:\n    here", "weak"),
        ("if accelerator.sync_gradients and use_amp:\n    here", "weak"),
        ("if accelerator.sync_gradients or step == 0:\n    here", "weak"),
        ("if accelerator.sync_gradients:\n    if step % 50 == 0:\n        here", "throttled weak"),
        ("if not accelerator.sync_gradients:\n    here", ""),
        # What nobody hopes for: numbers that overflow, exceptions.
        ("if torch.isnan(loss):\n    here", "cold"),
        ("if torch.isinf(grads).any():\n    here", "cold"),
        ("if torch.any(torch.isnan(grads)):\n    here", "cold"),
        ("if th.any(th.isnan(grads)):\n    here", "cold"),
        ("ok = th.isfinite(a)\nif not th.all(ok):\n    here", "cold"),
        ("ok = th.isfinite(a)\nif not ok.all(1):\n    here", "cold"),
        ("if not math.isfinite(loss):\n    here", "cold"),
        ("a = x.isfinite()\nb = y.isfinite()\nboth = a & b\nif not torch.all(both):\n    here", "cold"),
        ("a = x.isfinite()\nboth = a & done\nif not torch.all(both):\n    here", ""),
        ("if use_cuda:\n    here", ""),
        ("if use_cuda:\n    other()\nelse:\n    here", "cold"),
        ("if not torch.cuda.is_available():\n    here", "cold"),
        ("if args.cuda and step:\n    other()\nelse:\n    here", ""),
        ("if x.cuda():\n    other()\nelse:\n    here", ""),
        ("if __name__ == '__main__':\n    here", ""),  # a function of a script
        ("if torch.isfinite(loss):\n    other()\nelse:\n    here", "cold"),
        ("ok = a.isfinite().all(dim=1) & torch.isfinite(b)\nif not ok.all():\n    here", "cold"),
        ("ok = a.isfinite()\nif (~ok).any():\n    here", "cold"),
        ("ok = a.isfinite()\nif ok.all():\n    other()\nelse:\n    here", "cold"),
        ("ok = a.isfinite() & (a > 0)\nif not ok.all():\n    here", ""),
        ("ok = a.isfinite()\nif x:\n    ok = a > 0\nif not ok.all():\n    here", ""),
        ("ok = a.isfinite()\nif ok.any():\n    here", ""),
        ("if not ok.all():\n    here\nok = a.isfinite()", ""),
        ("ok = (a &\n    ok)\nif not ok.all():\n    here", ""),
        ("if len(rows) == 0:\n    logger.warning('no rows')\n    here", "cold"),
        ("if not rows:\n    warnings.warn('no rows')\n    x = 1\n    here", "cold"),
        ("if not rows:\n    log.warn('no rows')\nelse:\n    here", ""),
        ("if x:\n    logger.warning_once('slow')\n    here", ""),
        ("if x:\n    warn('slow')\n    here", ""),
        ("if x:\n    logger.info('slow')\n    here", ""),
        ("if x:\n    if y:\n        logger.warning('slow')\n    here", ""),
        ("if x:\n    logger.warning('long')\n" + "    y = 1\n" * 20 + "    here", ""),
        ("try:\n    other()\nexcept E:\n    failed = True\nif failed:\n    here", "cold"),
        ("failed = False\ntry:\n    other()\nexcept E:\n    failed = True\nif failed:\n    here", "cold"),
        ("failed = False\ntry:\n    other()\nexcept E:\n    failed = True\nif not failed:\n    here", ""),
        ("failed = True\ntry:\n    other()\nexcept E:\n    failed = True\nif failed:\n    here", ""),
        ("failed = other()\ntry:\n    other()\nexcept E:\n    failed = True\nif failed:\n    here", ""),
        # A batch without rows, of which the host knows how many there are.
        ("if x.numel() == 0:\n    here", "cold"),
        ("if x.shape[0] > 0:\n    other()\nelse:\n    here", "cold"),
        ("if x.size(0) < 1:\n    here", "cold"),
        ("if not x.nelement():\n    here", "cold"),
        ("rows = x.shape[0]\nif rows == 0 or y.numel() == 0:\n    here", "throttled"),
        ("if x.numel() >= 1 and ready:\n    other()\nelse:\n    here", ""),
        ("if x.numel() > 0:\n    here", ""),
        ("if x.numel() == 0:\n    continue\nhere", ""),
        ("if x.numel() > 1:\n    other()\nelse:\n    here", ""),
        ("if x.numel() == 1:\n    here", ""),
        ("if x.sum() == 0:\n    here", ""),
        ("if x.shape[1] == 0:\n    here", ""),
        ("if len(x) == 0:\n    here", ""),
        ("rows = x.shape[0]\nrows = other()\nif rows == 0:\n    here", ""),
        # A flag that is worked out in front.
        ("flag = step % 10 == 0\nif flag:\n    here", "throttled"),
        ("flag = step % 10 == 0 and rank == 0\nif flag:\n    here", "throttled"),
        ("flag = step % 2 == 0\nif flag:\n    here", ""),
        ("flag = step % 10 == 0\nif not flag:\n    here", ""),
        ("flag = step % 10 == 0\nflag = True\nif flag:\n    here", ""),
        ("flag = step % 10 == 0\nif use_amp and flag:\n    here", "throttled"),
        ("should_print = compute()\nif should_print:\n    here", "throttled"),
        # A flag that is worked out from what it was: the name behind the sign stands for another value.
        ("x = x or y\nif x:\n    here", ""),
        ("x = x or y\nif not x:\n    here", ""),
        ("x = not x\nif x:\n    here", ""),
        ("x = x or verbose\nif x:\n    here", ""),
        ("x = x and y\nif x:\n    here", ""),
        ("x = x and step % 10 == 0\nif x:\n    here", "throttled"),
        ("due: bool = (step < 10 and step % 3 == 0) or (step + 1) % every == 0\nif due:\n    here", "throttled"),
        ("due: bool\nif due:\n    here", ""),
        ("due: bool = flag\nif due:\n    here", ""),
        ("verbose = verbose and extra\nif verbose:\n    here", "throttled"),
        ("x = y or z\ny = x or z\nif x:\n    here", ""),
        ("x = y and z\ny = x and verbose\nif x:\n    here", "throttled"),
        ("first, flag = step % 10 == 0, 1\nif flag:\n    here", ""),
        ("if loss == 0:\n    here", ""),
        ("n += 1\nif n >= self.period:\n    n = 0\n    here", "throttled"),
        ("n += 1\nif n >= self.period:\n    here", ""),
        ("self.calls += 1\nif self.calls == 1:\n    here", "throttled"),
        ("self.calls += 1\nif self.calls != 100:\n    continue\nhere", "throttled"),
        ("self.calls += 1\nif self.calls != 1:\n    here", ""),
        ("self.calls += 1\nif self.calls == 0:\n    here", ""),
        ("self.calls += 1\nself.calls = 1\nif self.calls == 1:\n    here", ""),
        ("self.calls -= 1\nif self.calls == 1:\n    here", ""),
        ("if x:\n    self.calls += 1\nif self.calls == 1:\n    here", ""),
        ("if self.calls == 1:\n    here", ""),
        ("n += 1\nif n >= self.period:\n    n = 1 + m\n    here", ""),
        ("n += 1\nif n >= 2:\n    n = 0\n    here", ""),
        ("n = f()\nif n >= self.period:\n    n = 0\n    here", ""),
        ("n += 1\nif n < self.period:\n    n = 0\n    here", ""),
        ("if n >= self.period:\n    n = 0\n    here\nn += 1", ""),
        # What is kept of when it happened last tells that it happens once in a while.
        ("if times[-1] - shown > 1.0:\n    here\n    shown = times[-1]", "throttled"),
        ("if (times[-1] - shown) > args.every:\n    shown = times[-1]\n    here", "throttled"),
        ("if counts[key] >= shown + 100:\n    here\n    shown = counts[key]", "throttled"),
        ("if times[-1] - shown > 1.0:\n    here", ""),
        ("if times[-1] - shown > 1.0:\n    here\n    shown = times[0]", ""),
        ("if times[-1] - shown > 1.0:\n    here\n    kept = times[-1]", ""),
        ("if times[-1] - shown < 1.0:\n    here\n    shown = times[-1]", ""),
        ("if f(x)[-1] - shown > 1.0:\n    here\n    shown = f(x)[-1]", ""),
        ("if init is False:\n    here", ""),
        ("if verbose is not True:\n    here", ""),
        ("if verbose == 1:\n    here", ""),
        # The end of an episode is rare, in each of several environments too.
        ("d = step\nfor index, d in enumerate(done):\n    if d and lives[index] == 0:\n        here", "throttled"),
        ("for d in infos:\n    if d:\n        here", ""),
        ("for d, x in zip(done, xs):\n    if x:\n        here", ""),
        # Nothing waits for a device that is the host, or that is worked around.
        ("if device.type == 'cpu':\n    here", "cold"),
        ("if 'mps' in device.type:\n    here", "cold"),
        ("mps = x.device.type == 'mps'\nif mps:\n    here", "cold"),
        ("if mode == 'cpu':\n    here", "cold"),
        ("if device.type != 'cpu':\n    here", ""),
        ("if device.type == 'cpu':\n    pass\nelse:\n    here", ""),
        ("if device.type == 'cuda':\n    here", ""),
        ("if 'cpu' in names:\n    here", ""),
        ("if __debug__:\n    here", ""),
        ("if logger.isEnabledFor(logging.DEBUG):\n    here", "throttled"),
        ("if logger.isEnabledFor(logging.INFO):\n    here", ""),
        # What begins again when it is full.
        ("n += 1\nif n == size:\n    n, total = 0, None\n    here", "throttled"),
        ("n += 1\nif n >= size:\n    n, total = 1, 0\n    here", ""),
        ("kept.append(x)\nif len(kept) >= size:\n    here\n    kept.clear()", "throttled"),
        ("self.kept.append(x)\nif len(self.kept) == 100:\n    here\n    self.kept = []", "throttled"),
        ("kept.append(x)\nif len(kept) >= size:\n    here\n    del kept[:]", "throttled"),
        ("kept.append(x)\nif len(kept) >= size:\n    here\n    del kept[0]", ""),
        ("kept.append(x)\nif len(kept) >= size:\n    here\n    del kept[1:]", ""),
        ("kept.append(x)\nif len(kept) >= size:\n    here\n    del other[:]", ""),
        ("kept.append(x)\nif len(kept) >= 2:\n    here\n    kept.clear()", ""),
        ("kept.append(x)\nif len(kept) >= size:\n    here", ""),
        ("kept.append(x)\nif len(kept) >= size:\n    here\n    kept = [x]", ""),
        ("kept.append(x)\nif len(kept) >= size:\n    here\n    if full:\n        kept.clear()", ""),
        ("if len(kept) >= size:\n    here\n    kept.clear()", ""),
        # What is for an old torch only does not run on this one.
        ("if is_torch_version('<=', '2.8'):\n    here", "cold"),
        ("if kind == 'xpu' and is_torch_version('<=', '2.8'):\n    here", "cold"),
        ("if x.device.type == 'cpu' or is_torch_version('<=', '2.8'):\n    here", "throttled"),
        ("if x.device.type == 'cpu' or not hasattr(torch, '_grouped_mm'):\n    here", "throttled"),
        ("if not hasattr(torch, 'broadcast_to'):\n    here", "cold"),
        ("if hasattr(torch, 'broadcast_to'):\n    other()\nelse:\n    here", "cold"),
        ("if hasattr(torch, 'broadcast_to'):\n    here", ""),
        ("if big or not hasattr(torch, 'broadcast_to'):\n    here", ""),
        # What another library brings, what torch has no more, and what others have.
        ("if not hasattr(torch, 'npu'):\n    here", ""),
        ("if not hasattr(torch, 'rfft'):\n    here", ""),
        ("if not hasattr(model, '_grouped_mm'):\n    here", ""),
        ("if torch.__version__ < '2.0':\n    pass\nelse:\n    here", ""),
        ("if is_torch_version('>=', '2.8'):\n    here", ""),
    ],
)
def test_conditions_around_a_place(meaning: Meaning, code: str, expected: str) -> None:
    assert expected == meaning(code)


@pytest.mark.parametrize(
    ("count", "expected"),
    [(guards.FOLLOWED - 1, "throttled"), (3000, "")],
)
def test_flags_that_are_defined_by_each_other_are_followed_some_way(
    meaning: Meaning, count: int, expected: str
) -> None:
    flags = "".join(f"x{i} = x{i - 1} and y\n" for i in range(1, count + 1))

    assert expected == meaning(f"x0 = step % 10 == 0\n{flags}if x{count}:\n    here")


def test_a_flag_that_stands_twice_in_each_definition_is_read_once(meaning: Meaning) -> None:
    flags = "".join(f"x{i} = x{i - 1} or x{i - 1}\n" for i in range(1, 19))

    assert "throttled" == meaning(f"x0 = step % 10 == 0\n{flags}if x18:\n    here")


@pytest.mark.parametrize(
    ("before", "code", "expected"),
    [
        ("fresh = True", "if fresh or step % 10 == 0:\n    here\nfresh = False", "throttled"),
        ("fresh = True", "if not fresh:\n    here\nfresh = False", ""),
        ("fresh = True", "if x:\n    fresh = False\nif fresh:\n    here", ""),
        ("fresh = True", "if fresh:\n    here\nfresh = other()", ""),
        ("fresh = other()", "if fresh:\n    here\nfresh = False", ""),
        ("fresh = True", "if fresh:\n    here\nfresh = False\nfresh = True", ""),
        ("fresh = True", "if fresh:\n    here", ""),
    ],
)
def test_a_flag_of_the_first_iteration(meaning: Meaning, before: str, code: str, expected: str) -> None:
    assert expected == meaning(code, before)


@pytest.mark.parametrize(
    ("before", "condition", "expected"),
    [
        # A period is small where it is known to be; a default that people raise is not.
        ("period = 2", "step % period == 0", ""),
        ("period = 50", "step % period == 0", "throttled"),
        ("period = 2 * 2", "step % period == 0", ""),
        ("policy_frequency = 2", "step % policy_frequency == 0", ""),
        ("log_interval = 1", "step % log_interval == 0", "throttled"),
        ("period = 1", "step % period < 3", ""),
        ("period = 1", "step % period > 3", ""),
        ("period = 2", "not step % period", ""),
        # What is compared is no counter.
        ("import torch\nn = torch.zeros(3).sum()", "n == 0", ""),
        ("step = 'first'", "step in ('first', 'second')", ""),
        ("text = '%s'", "text % step == other", ""),
    ],
)
def test_what_is_known_of_the_numbers(meaning: Meaning, before: str, condition: str, expected: str) -> None:
    assert expected == meaning(f"if {condition}:\n    here", before)


@pytest.mark.parametrize(
    ("switch", "expected"),
    [
        ('os.environ.get("CHECKS") == "1"', "cold"),
        ('os.environ.get("CHECKS", "0") == "1"', "cold"),
        ('os.getenv("CHECKS", "").lower() in ("1", "true")', "cold"),
        ('bool(int(os.getenv("CHECKS", "0")))', "cold"),
        ('os.environ.get("CHECKS")', "cold"),
        ('"CHECKS" in os.environ', "cold"),
        ('os.environ.get("CHECKS") == "1" and unknown', "cold"),
        ('os.environ.get("CHECKS") == "1" or unknown', ""),
        ('os.environ.get("FAST", "1") == "1"', ""),
        ('os.environ.get("FAST", default) == "1"', ""),
        ('os.environ.get("FAST", default="1") == "1"', ""),
        ('os.environ.get("FAST") != "0"', ""),
        ('"SLOW" not in os.environ', ""),
        ('not os.environ.get("SLOW")', ""),
        ("options.get('CHECKS') == '1'", ""),
        ("False", ""),
    ],
)
def test_switches_of_the_environment(switch: str, expected: str) -> None:
    text = f"import os\nX = {switch}\ndef f(loader):\n    for batch in loader:\n        if X and batch:\n            here\n"
    inline = text.replace("if X and", f"if ({switch}) and")
    annotated = text.replace("X =", "X: bool =")
    local = text.replace("    for", "    X = other()\n    for")

    assert [expected, expected, expected, ""] == [_said(text), _said(inline), _said(annotated), _said(local)]


def _said(text: str) -> str:
    project = Project({"example.py": text.encode})
    module = project.module("example.py")
    assert module is not None
    function = module.functions[-1]
    place = next(node for node in function.flow.nodes if isinstance(node, ast.Name) and node.id == "here")
    found = [
        guards.meaning(one, function.flow, lambda n: project.value(function, n))
        for one in function.flow.guards(place, None)
    ]
    return " ".join(filter(None, found))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("torch.jit.is_scripting()", "cold"),
        ("torch.jit.is_tracing() and x", "cold"),
        ("torch.onnx.is_in_onnx_export()", "cold"),
        ("torch.compiler.is_exporting()", "cold"),
        ("not torch.jit.is_scripting()", ""),
        ("torch.jit.is_scripting() or x", ""),
        ("torch.compiler.is_compiling()", ""),
    ],
)
def test_no_ordinary_run_comes_where_a_graph_is_made_of_the_code(
    meaning: Meaning, condition: str, expected: str
) -> None:
    assert expected == meaning(f"if {condition}:\n    here")


COUNTED = "episode = 0\n"


@pytest.mark.parametrize(
    "condition",
    [
        "episode == TOTAL",
        "TOTAL == episode",
        "not episode != args.total",
        "time.time() - start > PERIOD or episode == TOTAL",
    ],
)
@pytest.mark.parametrize("counting", ["episode += 64", "episode = episode + x.size(0)"])
def test_what_a_loop_counts_is_equal_to_something_once(meaning: Meaning, condition: str, counting: str) -> None:
    assert "throttled" == meaning(f"{counting}\nif {condition}:\n    here", COUNTED)


@pytest.mark.parametrize(
    ("counting", "condition"),
    [
        ("episode += 1", "episode != TOTAL"),
        ("episode += 1", "episode == 'last'"),
        ("episode += 1", "episode < TOTAL"),
        ("episode += 1", "0 == episode == TOTAL"),
        ("episode *= 2", "episode == TOTAL"),
        ("episode = found + 1", "episode == TOTAL"),
        ("episode = batch + episode", "episode == TOTAL"),
        ("episode += 1\nepisode = batch.episode", "episode == TOTAL"),
        ("if use_amp: episode += 1", "episode == TOTAL"),
        ("pass", "episode == TOTAL"),
    ],
)
def test_what_a_loop_does_not_only_count_may_be_equal_on_every_step(
    meaning: Meaning, counting: str, condition: str
) -> None:
    assert "" == meaning(f"{counting}\nif {condition}:\n    here", COUNTED)


@pytest.mark.parametrize(
    ("loop", "often"),
    [
        ("for sample in batch:", True),
        ("for sample in range(10):", False),
        ("for sample, x in enumerate(batch):", False),
        ("for x, sample in enumerate(batch):", True),
        ("for sample in range(start, stop, 2):", False),
        ("for sample, x in zip(batch, rest):", True),
        ("for sample in range(10):\n    sample = pick(sample)", True),
    ],
)
def test_the_number_of_an_iteration_is_equal_to_something_once(meaning: Meaning, loop: str, often: bool) -> None:
    assert ("" if often else "throttled") == meaning(f"{loop}\n    if sample == chosen:\n        here")


@pytest.mark.parametrize(
    ("loop", "condition", "often"),
    [
        ("for at in range(1, n + 1):", "at >= n", False),
        ("for at in range(n):", "at >= n - 1", False),
        ("for at in range(n):", "at % args.log_freq == 0 or at >= n - 1", False),
        ("for at, x in enumerate(self.parts):", "at >= len(self.parts) - 1", False),
        ("for at in range(1, n + 1):", "step - 1 >= n * len(loader)", False),
        ("for at in range(n):", "step % 50 == 0 or step >= len(loader) * n - 1", False),
        ("for at in range(n):", "step >= warm * len(loader)", True),
        ("for at in range(n):", "step < n * len(loader)", True),
        ("for at in range(n):", "size >= n * len(loader)", True),
        ("for at in range(n):", "at >= other", True),
        ("for at in range(n):", "at > n - 1", True),
        ("for at in range(n):", "not at >= n - 1", True),
        ("for at in range(n):", "x >= n - 1", True),
        ("for at in range(n):\n    at = f(at)", "at >= n - 1", True),
        ("for at, x in enumerate(self.parts):", "at >= len(self.rest) - 1", True),
        ("for at, x in zip(parts, rest):", "at >= len(parts) - 1", True),
    ],
)
def test_the_last_iteration(meaning: Meaning, loop: str, condition: str, often: bool) -> None:
    assert ("" if often else "throttled") == meaning(f"{loop}\n    if {condition}:\n        here")


def test_a_bound_that_is_known_says_how_few_steps_are_the_first(meaning: Meaning) -> None:
    assert "throttled" == meaning("if i < first: here", before="first = 5")
    assert "" == meaning("if i >= first: here", before="first = 5")
    assert "" == meaning("if i < most: here", before="most = 100_000")
    assert "" == meaning("if epoch < stage: here", before="stage = 20")
    assert "" == meaning("if i < args.most: here")
    assert "" == meaning("if loss < least: here", before="least = 5")


@pytest.mark.parametrize(
    ("condition", "often"),
    [
        ("0 == i % 10", False),
        ("0 == step % args.every", False),
        ("len(loader) - 1 == i", False),
        ("len(loader) - 1 <= i", False),
        ("args.warm == step", False),
        ("3 > i", False),
        ("args.log_steps < since", False),
        ("0.01 > random.random()", False),
        ("0 != i % 10", True),
        ("args.warm < step", True),
        ("since < args.log_steps", True),
        ("least > loss", True),
        ("best < loss", True),
    ],
)
def test_what_is_asked_may_stand_on_the_right(meaning: Meaning, condition: str, often: bool) -> None:
    assert ("" if often else "throttled") == meaning(f"if {condition}:\n    here")


@pytest.mark.parametrize(
    "code",
    [
        "seen += 1\nif 100 <= seen:\n    seen = 0\n    here",
        "seen += 1\nif args.period == seen:\n    seen = 0\n    here",
        "seen += 1\nif args.period > seen:\n    continue\nseen = 0\nhere",
        "seen += 1\nif not seen < args.period:\n    seen = 0\n    here",
    ],
)
def test_a_count_that_begins_again(meaning: Meaning, code: str) -> None:
    assert "throttled" == meaning(code)
