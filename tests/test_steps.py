"""Step loops, what runs in them on every step, and the loops that run a model without training it.

In the programs below `# hot` marks the lines that run on every step, `# weak` those behind a condition that thins out
micro-steps only, `# warm` those of evaluation and generation loops. All other lines are none of it.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Iterator

import pytest

from torchlint.program.project import Project
from torchlint.program.steps import Steps
from torchlint.program.warm_loops import WarmLoops

Files = dict[str, str]
MARK = re.compile(r"# (hot|weak|warm)\b")
STEP = "    loss.backward()  # hot\n    optimizer.step()  # hot\n"


def steps_of(files: Files) -> Steps:
    return Steps(Project({path: text.encode for path, text in files.items()}))


def told(files: Files) -> Iterator[tuple[str, int, str]]:
    """Each line that runs on every step or iteration, with how."""
    steps = steps_of(files)
    loops = WarmLoops(steps)
    for path in files:
        module = steps.project.module(path)
        assert module is not None
        for function in module.functions:
            for node in function.flow.nodes:
                # Simple statements, and the tests of compound ones.
                if isinstance(node, ast.Expr | ast.Assign | ast.AugAssign | ast.Return | ast.Pass):
                    hot = steps.hot(function, node)
                    if hot is not None:
                        yield path, node.lineno, "weak" if hot.weak else "hot"
                    elif loops.warm(function, node) is not None:
                        yield path, node.lineno, "warm"


def marked(files: Files) -> set[tuple[str, int, str]]:
    return {
        (path, number, match[1])
        for path, text in files.items()
        for number, line in enumerate(text.splitlines(), 1)
        if (match := MARK.search(line))
    }


def check(files: Files) -> None:
    assert marked(files) == set(told(files))


def indented(code: str, by: int = 1) -> str:
    return "".join(f"{'    ' * by}{line}\n" for line in code.splitlines())


def check_one(code: str) -> None:
    check({"train.py": "import torch\nfrom torch import nn\n" + code})


# What is no step


@pytest.mark.parametrize(
    "code",
    [
        "x = 1",
        "loss.backward()",
        "optimizer.step()",
        "for x in y:\n    f(x)",
        # A scheduler's, an environment's and a profiler's steps train nothing.
        "for t in timesteps:\n    latents = scheduler.step(noise, t, latents)",
        "for t in timesteps:\n    latents = self.scheduler.step(noise, t, latents, **extra).prev_sample",
        "for x in y:\n    lr_scheduler.step()",
        "for x in y:\n    state, reward = env.step(action)",
        "for x in y:\n    state, reward = self.envs.step(action.cpu().numpy())",
        "for x in y:\n    prof.step()",
        "for x in y:\n    profiler.step()",
        "for x in y:\n    simulator.step()",
        "for x in y:\n    solver.step(a, b)",
        "for x in y:\n    simulator.step(x)",
        "for x in y:\n    optimizer.step(x, y)",
        "for x in y:\n    step()",
        "for x in y:\n    scheduler.step(val_loss)",
        "for x in y:\n    optimizer.step(noise)",
        "for x in y:\n    optimizer.step(loss, x)",
        "for x in y:\n    browser.backward_all()",
        # An implementation of backward, not autograd's.
        (
            "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x\n"
            "    @staticmethod\n    def backward(ctx, g):\n        for x in g:\n            ctx.backward(x)\n        return g"
        ),
        "import other\nfor x in y:\n    other.backward(x)",
        # A loop over optimizers is none over steps.
        "for optimizer in optimizers:\n    optimizer.step()",
        "for optimizer in optimizers:\n    scaler.step(optimizer)",
        "for name, opt in self.optimizers.items():\n    opt.step()",
        "for loss in losses:\n    loss.backward()",
        "for group in groups:\n    group.inner.optimizer.step()",
        "for pair in pairs:\n    pair[0].optimizer.step()",
        "for loss in losses:\n    lib.scaler(loss, optimizer)",
        "[optimizer.step() for optimizer in optimizers]",
        # A loop over a few written values is one over runs, not over steps.
        "def fit():\n    loss.backward()\n    optimizer.step()\nfor rate in (0.1, 0.01):\n    fit()",
        "def fit():\n    loss.backward()\nfor name, rate in {'a': 1, 'b': 2}.items():\n    fit()",
        "for rate in [0.1, 0.01]:\n    loss.backward()\n    optimizer.step()",
        "RATES = {'slow': 0.1, 'fast': 1.0}\nfor name in RATES.items():\n    loss.backward()",
        "KINDS = ['a', 'b']\nfor kind in KINDS:\n    loss.backward()",
        "for rate, width in itertools.product(rates, widths):\n    loss.backward()",
        "for seed in range(5):\n    loss.backward()\n    optimizer.step()",
        # One iteration of a loop is none that comes again.
        "for i in range(n):\n    if i == 0:\n        loss.backward()",
        "for i in range(n):\n    if kind == 'a' and i == 0:\n        loss.backward()\n        optimizer.step()",
        "for fold_idx, split in enumerate(splits):\n    loss.backward()\n    optimizer.step()",
        "for rate in rates:\n    optimizer = torch.optim.SGD(p, rate)\n    loss.backward()\n    optimizer.step()",
        "def fit():\n    loss.backward()\nfor rate in rates:\n    sgd = torch.optim.SGD(p, rate)\n    fit()",
        # What is made anew each time.
        "class Run:\n    def fit(self):\n        loss.backward()\nfor rate in rates:\n    run = Run(rate)\n    run.fit()",
        # Nobody calls it in a loop.
        "def train_step(batch):\n    loss.backward()\n    optimizer.step()\ntrain_step(1)",
        "while True:\n    def train():\n        loss.backward()",
        "for x in y:\n    pass\nelse:\n    loss.backward()",
        # A kernel that is measured or tuned.
        "for width in widths:\n    out = kernel(x, width)\n    out.backward(dy)",
        "for width in widths:\n    out = kernel(x, width)\n    out.backward(torch.ones_like(out))",
    ],
)
def test_what_is_no_step_loop(code: str) -> None:
    assert {} == steps_of({"train.py": f"import torch\n{code}\n"}).index.loops
    check_one(code)


OWN = "class Own:\n    def step(self):\n        {}\n{}for x in y:\n    {}\n"


@pytest.mark.parametrize("step", ["return self.model(self.x)", "self.x += torch.randn(3)", "raise NotImplementedError"])
def test_an_optimizer_of_the_project_that_takes_no_gradient(step: str) -> None:
    check_one(OWN.format(step, "optimizer = Own()\n", "optimizer.step()"))


@pytest.mark.parametrize(
    "step", ["self.adam.step()", "loss.backward()", "self.p.data -= self.p.grad", "self.model.requires_grad_()"]
)
def test_an_own_optimizer_that_takes_gradients(step: str) -> None:
    check_one(OWN.format(f"{step}  # hot", "optimizer = Own()\n", "optimizer.step()  # hot"))


@pytest.mark.parametrize("made", ["Own() if own else make()\n", "Own()\nif own:\n    optimizer = make()\n"])
def test_an_optimizer_that_may_be_another_one(made: str) -> None:
    check_one(OWN.format("return self.model(self.x)  # hot", f"optimizer = {made}", "optimizer.step()  # hot"))


@pytest.mark.parametrize(
    "step",
    [
        "loss.backward()",
        "loss.mean().backward()",
        "(a + b).backward()",
        "torch.autograd.backward(loss)",
        "accelerator.backward(loss)",
        "self.fabric.backward(loss)",
        "self.manual_backward(loss)",
        "scaler.scale(loss).backward()",
        "scaler.step(optimizer)",
        "scaler.step(self.optimizer_G)",
        "optimizer.step()",
        "self.optimizer.step()",
        "optimizers['gen'].step()",
        "opt_d.step()",
        "optimizer.step(closure)",
        "self.optim.step(critic_loss)",
        "sgd.step()",
        "model_engine.backward(loss)",
    ],
)
def test_steps(step: str) -> None:
    check_one(
        f"sgd = torch.optim.SGD(p)\nfor x in y:\n    before()  # hot\n    {step}  # hot\n    after()  # hot\nend()"
    )


@pytest.mark.parametrize(
    "code",
    [
        # A list of numbers or of pairs may be all the data there is.
        "DATA = [('The dog', 1), ('The cat', 0)]\nfor text, label in DATA:\n    loss.backward()  # hot",
        "points = [0.5, 1.5]\nfor point in points:\n    loss.backward()  # hot",
        "kinds = ['a', 'b']\nkinds = more(kinds)\nfor kind in kinds:\n    loss.backward()  # hot",
        # Seeds of a batch of nodes, not of a run.
        "for seeds in train_loader:\n    loss.backward()  # hot\n    optimizer.step()  # hot",
        "for i, seeds in enumerate(tqdm(loader)):\n    loss.backward()  # hot",
        # The first iteration makes the optimizer, or it is another's.
        "for x in y:\n    if sgd is None:\n        sgd = torch.optim.SGD(p)\n    loss.backward()  # hot\n    sgd.step()  # hot",
        "for x in y:\n    optimizer = optimizers[x]  # hot\n    loss.backward()  # hot\n    optimizer.step()  # hot",
        "for rate in rates:\n    optimizer = torch.optim.SGD(p, rate)\n    for x in y:\n        loss.backward()  # hot",
    ],
)
def test_what_is_no_loop_over_settings(code: str) -> None:
    check_one(code)


@pytest.mark.parametrize(
    "code",
    [
        "for x in y:\n    loss.backward()\n    optimizer.step()\n    break",
        "while True:\n    try:\n        loss.backward()\n        optimizer.step()\n        break\n    except MemoryError:\n        n = n // 2",
        "for attempt in range(3):\n    try:\n        loss.backward()\n    except MemoryError:\n        pass",
    ],
)
def test_attempts_are_no_steps(code: str) -> None:
    check_one(code)


def test_values_of_an_option_that_takes_several_are_settings() -> None:
    check_one(
        "parser.add_argument('--sizes', nargs='+', type=int)\nparser.add_argument('-n', '--names', action='append')\n"
        "parser.add_argument('--batches')\nargs = parser.parse_args()\n"
        "def main(size):\n    loss.backward()\n    optimizer.step()\n"
        "for size in args.sizes:\n    main(size)\n    clear()\n"
        "for name in args.names:\n    loss.backward()\n    optimizer.step()\n"
        "for batch in args.batches:\n    loss.backward()  # hot\n    optimizer.step()  # hot\n"
        "for epoch in args.sizes:\n    for batch in loader:\n        loss.backward()  # hot\n"
    )


def test_steps_of_a_test_say_nothing_of_the_program() -> None:
    helpers = "def describe(x):\n    return x.max()\ndef used(x):\n    return x.min()  # hot\n"
    loop = "for x in y:\n        describe(x)  # hot\n        used(x)  # hot\n        loss.backward()  # hot\n"
    check(
        {
            "lib.py": helpers,
            "tests/test_lib.py": f"from lib import describe, used\ndef run():\n    {loop}",
            "train.py": "from lib import used\nfor x in y:\n    used(x)  # hot\n    loss.backward()  # hot\n",
        }
    )
    check_one(
        f"{helpers}def test_lib():\n    {loop}def train():\n    for x in y:\n        used(x)  # hot\n        loss.backward()  # hot\n"
    )


# The nearest loop


def test_loop_over_epochs_is_outside() -> None:
    check_one(
        "for epoch in range(10):\n    start()\n    for batch in loader:\n        loss.backward()  # hot\n        optimizer.step()  # hot\n    evaluate()\n"
    )


def test_inner_loops_of_a_step_belong_to_it() -> None:
    check_one("for batch in loader:\n    for p in parameters:\n        p.clamp()  # hot\n" + STEP)


def test_loops_that_accumulate_gradients() -> None:
    check_one(
        "while True:\n    for micro in range(4):\n        forward()  # hot\n        loss.backward()  # hot\n"
        "    clip()  # hot\n    optimizer.step()  # hot\n"
    )


def test_loop_over_optimizers_inside_a_step() -> None:
    check_one(
        "for batch in loader:\n    loss.backward()  # hot\n    for optimizer in optimizers:\n        optimizer.step()  # hot\n    log()  # hot\n"
    )


STEP_OF_EACH = "        loss = f(x)  # hot\n        loss.backward()  # hot\n        {step}  # hot\n"


@pytest.mark.parametrize(
    ("over", "step"),
    [
        ("agent in agents", "agent.optimizer.step()"),
        ("model, opt in zip(models, optimizers)", "opt.step()"),
        ("i in range(n)", "optimizers[i].step()"),
        ("i in range(n)", "optimizer = models['optimizer_{}'.format(i)]  # hot\n        optimizer.step()"),
        ("name in names", "optimizer = models[f'{name}_optimizer']  # hot\n        optimizer.step()"),
    ],
)
def test_loops_over_what_is_trained(over: str, step: str) -> None:
    inner = STEP_OF_EACH.format(step=step)
    check_one(f"while True:\n    x = draw()  # hot\n    for {over}:\n{inner}    log(loss.item())  # hot\n")
    # In a function of its own, what calls it in a loop steps, too.
    inside = indented(f"for {over}:\n{inner}")
    check_one(
        f"def update(x):\n    x = prepare(x)  # hot\n{inside}while True:\n    x = draw()  # hot\n    update(x)  # hot\n"
    )
    # Runs of it are no steps.
    check_one(f"for seed in range(3):\n    start()\n    for {over}:\n{inner}")


def test_loops_over_batches_that_choose_an_optimizer_are_none_over_what_is_trained() -> None:
    check_one(
        "for epoch in range(8):\n    start()\n    for i in range(n):\n        loss.backward()  # hot\n        optimizers[i % 2].step()  # hot\n"
    )
    check_one(
        "for epoch in range(8):\n    start()\n    for x in y:\n        optimizer = choose(x)  # hot\n        loss.backward()  # hot\n        optimizer.step()  # hot\n"
    )
    check_one(
        "for epoch in range(8):\n    start()\n    for batch in torch.utils.data.DataLoader(data):\n        f(batch)  # hot\n        batch.loss.backward()  # hot\n        batch.optimizer.step()  # hot\n"
    )


def test_generator_and_discriminator() -> None:
    check_one(
        "for epoch in range(10):\n    for i, batch in enumerate(loader):\n"
        "        netD.zero_grad()  # hot\n        errD_real.backward()  # hot\n        optimizerD.step()  # hot\n"
        "        netG.zero_grad()  # hot\n        errG.backward()  # hot\n        optimizerG.step()  # hot\n"
        "        if i % 100 == 0:\n            save()\n"
    )


def test_updates_of_reinforcement_learning() -> None:
    check_one(
        "for iteration in range(iterations):\n    for step in range(num_steps):\n        obs, reward = envs.step(action)\n"
        "    for epoch in range(update_epochs):\n        for start in range(0, size, minibatch):\n"
        "            loss.backward()  # hot\n            optimizer.step()  # hot\n    writer.add_scalar('loss', loss.item())\n"
    )


def test_environment_and_update_in_one_loop() -> None:
    check_one(
        "for step in range(n):\n    action = act(obs)  # hot\n    obs = envs.step(action)  # hot\n    if step > learning_starts:\n"
        "        loss.backward()  # hot\n        optimizer.step()  # hot\n"
    )


def test_update_in_a_function_of_the_agent() -> None:
    check_one(
        "class Agent:\n    def act(self, state):\n        return self.net(state)  # hot\n"
        "    def remember(self, state):\n        if len(state) % 100 == 0:\n            print(state)\n"
        "    def learn(self):\n        self.loss().backward()  # hot\n        self.optimizer.step()  # hot\n"
        "    def loss(self):\n        return 1  # hot\n"
        "def train(env):\n    agent = Agent()\n    while True:\n        action = agent.act(env.state)  # hot\n"
        "        env.step(action)  # hot\n        agent.remember(action)  # hot\n        agent.learn()  # hot\n"
    )


# Through functions


def test_step_in_a_function_that_a_loop_calls() -> None:
    check_one(
        "def train_step(batch):\n    loss.backward()  # hot\n    optimizer.step()  # hot\n    return loss  # hot\n"
        "def unrelated():\n    print(1)\n"
        "def train(loader):\n    start()\n    for batch in loader:\n        loss = train_step(batch)  # hot\n    end()\n"
    )


_UPDATE = (
    "def update(x, training=True, scaler=None):\n{head}    loss = x.sum(){mark}\n    if training:\n"
    "        loss.backward(){mark}\n        optimizer.step(){mark}\n    return loss{mark}\n"
)
_THROUGH = "def run(x, train):\n    update(x, training=train){mark}\n"
_NEGATED = "def run(x, test):\n    update(x, training=not test){mark}\n"


@pytest.mark.parametrize(
    ("head", "more", "call", "steps"),
    [
        # What a call writes out keeps the branch that steps from running.
        ("", "", "update(x, training=False)", False),
        ("", "", "update(x, False)", False),
        ("", "", "update(x, training=None)", False),
        ("    if not training:\n        return x.mean()\n", "", "update(x, training=False)", False),
        ("    if scaler is None:\n        return x\n", "", "update(x)", False),
        # So does what a function between them hands on, or asks for by itself.
        ("", _THROUGH, "run(x, False)", False),
        ("", _THROUGH, "run(x, train=False)", False),
        ("", _NEGATED, "run(x, True)", False),
        ("", "def run(x, mode='test'):\n    if mode == 'train':\n        update(x){mark}\n", "run(x)", False),
        ("", "def run(x, train=False):\n    update(x, train){mark}\n", "run(x)", False),
        # It steps where the call says so, or where nobody knows what it gives.
        ("", "", "update(x)", True),
        ("", "", "update(x, training=True)", True),
        ("", "", "update(x, scaler=None)", True),
        ("", "", "update(x, training=args.train)", True),
        ("", "", "update(x, *options)", True),
        ("", "", "update(x, **options)", True),
        ("    training = training or x.train{mark}\n", "", "update(x, training=False)", True),
        ("", _THROUGH, "run(x, True)", True),
        ("", _THROUGH, "run(x, args.train)", True),
        ("", _NEGATED, "run(x, False)", True),
        ("", _NEGATED, "run(x, args.test)", True),
        (
            "",
            "def run(x, train):\n    train = train or x.train{mark}\n    update(x, train){mark}\n",
            "run(x, False)",
            True,
        ),
        ("", "def run(x, train):\n    update(x){mark}\n    update(x, train){mark}\n", "run(x, False)", True),
    ],
)
def test_a_call_that_keeps_the_branch_that_steps_from_running(head: str, more: str, call: str, steps: bool) -> None:
    mark = "  # hot" if steps else ""
    update = _UPDATE.format(head=head, mark="{mark}")
    check_one((update + more).replace("{mark}", mark) + f"for x in loader:\n    y = {call}{mark}\n")


def test_a_call_that_keeps_one_of_two_branches_that_step_from_running() -> None:
    head = "    x.mean().backward()  # hot\n"
    update = _UPDATE.format(head=head, mark="").replace("loss = x.sum()", "loss = x.sum()  # hot")
    update = update.replace("return loss", "return loss  # hot")
    check_one(f"{update}for x in loader:\n    update(x, training=False)  # hot\n")


def test_a_loop_that_evaluates_by_what_trains_elsewhere() -> None:
    update = _UPDATE.format(head="", mark="  # hot").replace("def update(", "def update(self, ")
    check_one(
        f"class Trainer:\n{indented(update)}"
        "def train(trainer: Trainer, loader):\n    for x in loader:\n        trainer.update(x, training=True)  # hot\n"
        "def evaluate(trainer: Trainer, loader):\n    for x in loader:\n        y = trainer.update(x, training=False)\n"
    )


def test_step_in_a_function_of_another_file() -> None:
    check(
        {
            "engine.py": "def train_step(batch):\n    loss.backward()  # hot\n    optimizer.step()  # hot\n    log(loss)  # hot\n"
            "def log(loss):\n    print(loss)  # hot\n"
            "def evaluate():\n    print(loss)\n",
            "train.py": "from engine import train_step, evaluate\nfor epoch in range(10):\n    for batch in loader:\n"
            "        train_step(batch)  # hot\n    evaluate()\n",
        }
    )


def test_step_of_an_object_that_a_factory_makes() -> None:
    """The file that calls the method imports neither the class nor its module."""
    check(
        {
            "pkg/agents.py": "class Agent:\n    def learn(self, batch):\n        loss.backward()  # hot\n"
            "    def show(self):\n        print(loss)\n",
            "pkg/__init__.py": "def get_agent(name):\n    from .agents import Agent\n    return Agent()\n",
            "main.py": "from pkg import get_agent\nagent = get_agent(name)\nfor batch in loader:\n    agent.learn(batch)  # hot\n"
            "agent.show()\nfor batch in loader:\n    other.learn(batch)\n",
        }
    )


def test_helper_in_another_file_that_a_step_loop_calls() -> None:
    check(
        {
            "train.py": "from utils import accuracy\nfor batch in loader:\n    accuracy(x)  # hot\n" + STEP,
            "utils.py": "def accuracy(x):\n    return x.sum()  # hot\n",
            "other/utils.py": "def accuracy(x):\n    return x.sum()\n",
        }
    )


def test_step_two_calls_away() -> None:
    check_one(
        "def update():\n    optimizer.step()  # hot\ndef train_step():\n    update()  # hot\n"
        "def run_epoch():\n    for batch in loader:\n        train_step()  # hot\n"
    )


def test_forward_of_the_model_in_a_step() -> None:
    check_one(
        "class Block(nn.Module):\n    def forward(self, x):\n        return x  # hot\n"
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.block = Block()\n        self.many = nn.ModuleList([Block()])\n"
        "    def forward(self, x):\n        return self.block(x)  # hot\n    def other(self, x):\n        return x\n"
        "net = Net()\nfor batch in loader:\n    net(batch)  # hot\n" + STEP
    )


def test_how_far_calls_are_followed() -> None:
    check_one(
        "def six():\n    x = 4  # hot\ndef five():\n    six()  # hot\ndef four():\n    five()  # hot\ndef three():\n    four()  # hot\n"
        "def two():\n    three()  # hot\ndef one():\n    two()  # hot\n"
        "for batch in loader:\n    one()  # hot\n" + STEP
    )


def test_the_shortest_way_counts() -> None:
    check_one(
        "def deep():\n    x = 1  # hot\ndef c():\n    deep()  # hot\ndef b():\n    c()  # hot\ndef a():\n    b()  # hot\n"
        "for batch in loader:\n    a()  # hot\n    deep()  # hot\n" + STEP
    )
    steps = steps_of(
        {
            "train.py": "def deep():\n    x = 1\ndef a():\n    deep()\nfor b in c:\n    a()\n    deep()\n    loss.backward()\n"
        }
    )
    assert {"a": 1, "deep": 1} == {name: why.depth for (_, name, _), why in steps.index.functions.items()}


def test_functions_that_call_each_other() -> None:
    check_one("def a():\n    b()  # hot\ndef b():\n    a()  # hot\nfor batch in loader:\n    a()  # hot\n" + STEP)


def test_closure_of_an_optimizer() -> None:
    check_one(
        "def train():\n    for batch in loader:\n        def closure():\n            loss.backward()  # hot\n            return loss  # hot\n"
        "        optimizer.step(closure)  # hot\n"
    )


def test_closure_that_goes_through_all_batches() -> None:
    check_one(
        "import torch\ndef train(loader: torch.utils.data.DataLoader):\n    n = 1\n    def closure():\n        total = 0\n"
        "        for batch in loader:\n            loss.backward()  # hot\n            total += 1  # hot\n        return total\n"
        "    optimizer.step(closure)\nfor epoch in range(9):\n    train(loader)\n    barrier()\n"
    )


def test_closure_that_goes_through_parts_of_a_batch() -> None:
    check_one(
        "def train(batch):\n    def closure():\n        total = 0\n"
        "        for part in batch.chunk(4):\n            loss.backward()  # hot\n        return total\n"
        "    optimizer.step(closure)  # hot\nfor batch in loader:\n    train(batch)  # hot\n    log()  # hot\n"
    )


def test_what_a_function_fits_on_the_host() -> None:
    check_one(
        "def fit(points):\n    shift = torch.zeros(3) * 2\n    turn = unknown(points)\n"
        "    opt = torch.optim.LBFGS(params=[shift, turn], lr=1)\n    for i in range(9):\n"
        "        def closure():\n            loss.backward()\n            return loss\n        opt.step(closure)\n        log()\n"
        "def plain():\n    x = torch.randn(3, requires_grad=True)\n    opt = torch.optim.Adam([x])\n"
        "    for i in range(9):\n        loss.backward()\n        opt.step()\n"
    )


@pytest.mark.parametrize(
    "made",
    [
        "x = torch.randn(3).cuda()\n    opt = torch.optim.Adam([x])",
        "x = torch.randn(3, device=device)\n    opt = torch.optim.Adam([x])",
        "x = other()\n    opt = torch.optim.Adam([x])",
        "x = torch.randn(3)\n    opt = torch.optim.Adam([x.cuda()])",
        "x = torch.randn(3)\n    opt = torch.optim.Adam(model.parameters())",
        "x = torch.randn(3)\n    opt = torch.optim.Adam([x])\n    opt = other(opt)",
        "x = torch.randn(3)\n    y = torch.randn(3).cuda()\n    opt = torch.optim.Adam([x, y])",
    ],
)
def test_what_may_be_fitted_on_the_device(made: str) -> None:
    check_one(
        f"def fit(model, device):\n    {made}\n    for i in range(9):\n        loss.backward()  # hot\n        opt.step()  # hot\n"
    )


def test_closure_given_to_a_library() -> None:
    check_one(
        "def train():\n    def closure():\n        loss.backward()  # hot\n        return loss  # hot\n    for batch in loader:\n"
        "        minimise(fun=closure)  # hot\n"
    )


def test_function_given_to_a_process_is_called_once() -> None:
    check_one(
        "def main():\n    def train():\n        setup()\n        for batch in loader:\n            loss.backward()  # hot\n"
        "    for rank in range(4):\n        Process(target=train).start()\n"
    )


def test_a_step_of_its_own_behind_a_throttle() -> None:
    check_one(
        "for step in range(n):\n    if step % 10 == 0:\n        actor_loss.backward()  # hot\n        actor_optimizer.step()  # hot\n"
        "        update()  # hot\n        if step % 100 == 0:\n            log()\n    if step % 10 == 1:\n        optimizer.step()\n        log()\n"
        + STEP
    )


def test_what_leads_to_a_step_of_its_own_behind_a_throttle() -> None:
    check_one(
        "def update(optimizer, loss):\n    optimizer.zero_grad()  # hot\n    loss.backward()  # hot\n    optimizer.step()  # hot\n"
        "class Agent:\n    def run(self):\n        while not self.done:\n            self.turn()  # hot\n"
        "    def turn(self):\n        self.act()  # hot\n        if self.count % 4 == 0:\n            self.learn()  # hot\n"
        "        if self.count % 1000 == 0:\n            self.save()\n"
        "    def act(self):\n        self.count += 1  # hot\n"
        "    def learn(self):\n        loss = self.loss()  # hot\n        update(self.optimizer, loss)  # hot\n"
        "        if self.count % 100 == 0:\n            log(loss)\n"
        "    def loss(self):\n        return self.model(self.batch()).sum()  # hot\n"
        "    def save(self):\n        write(self.model)\n"
    )


def test_what_leads_to_steps_that_no_loop_runs_is_none() -> None:
    check_one(
        "def update(optimizer, loss):\n    optimizer.zero_grad()  # hot\n    loss.backward()  # hot\n    optimizer.step()  # hot\n"
        "def once(optimizer, model, x):\n    y = model(x)\n    update(optimizer, y.sum())\n"
    )


def test_gradients_of_two_models_that_the_same_condition_gathers() -> None:
    check_one(
        "for i, x in enumerate(loader):\n    loss = model(x)  # hot\n    loss.backward()  # hot\n    other_loss.backward()  # hot\n"
        "    if i > start:\n        if i % every == 0:\n            other_optimizer.step()  # weak\n            other.zero_grad()  # weak\n"
        "    if i % every == 0:\n        optimizer.step()  # weak\n        model.zero_grad()  # weak\n"
        "    if i % 100 == 0:\n        save(model)\n"
    )


def test_a_method_that_takes_a_whole_step() -> None:
    check_one(
        "class Agent:\n    def learn(self, batch):\n        loss = self.loss(batch)  # hot\n        loss.backward()  # hot\n        self.optimizer.step()  # hot\n"
        "        return {'loss': loss.item()}  # hot\n    def loss(self, batch):\n        return batch  # hot\n"
        "    def half(self, loss):\n        loss.backward()\n    def other(self):\n        x = 1\n"
        "    def test_it(self):\n        loss.backward()\n        self.optimizer.step()\n"
        "    def solve(self):\n        def closure():\n            loss.backward()\n            return loss\n        self.optimizer.step(closure)\n"
        "def fit(model):\n    loss.backward()\n    optimizer.step()\n"
    )


def test_a_method_that_makes_an_optimizer_for_each_step() -> None:
    check_one(
        "import torch\nclass Guided:\n    def __call__(self, x):\n        start()\n        for t in self.times:\n"
        "            optimizer = torch.optim.SGD([x])\n            loss.backward()\n            optimizer.step()\n"
        "        return x.cpu()\n"
    )


def test_an_optimizer_of_the_project_that_takes_the_loss() -> None:
    check_one(
        "class Agent:\n    def learn(self, batch):\n        loss = self.loss(batch)  # hot\n        self.optim.step(loss)  # hot\n"
        "        return {'loss': loss.item()}  # hot\n    def loss(self, batch):\n        return batch  # hot\n"
        "    def validate(self):\n        self.plateau.step(loss)\n        self.lr_scheduler.step(loss)\n"
        "def fit(model):\n    optimizer.step(loss)\n"
    )


def test_gradients_that_are_part_of_a_loss() -> None:
    check_one(
        "def penalty(critic, x):\n    out = critic(x)  # hot\n    (grad,) = torch.autograd.grad(out, x, create_graph=True)  # hot\n    return grad  # hot\n"
        "def saliency(model, x):\n    return torch.autograd.grad(model(x), x)[0]\n"
        "def plain(model, x):\n    return torch.autograd.grad(model(x), x, create_graph=False)[0]\n"
        "def test_penalty(critic, x):\n    return torch.autograd.grad(critic(x), x, create_graph=True)\n"
        "def show(critic, x):\n    with torch.no_grad():\n        return torch.autograd.grad(critic(x), x, create_graph=True)\n"
    )


def test_gradients_that_are_part_of_a_loss_of_a_loop_in_the_function() -> None:
    check_one(
        "def refine(net, x):\n    v = start(x)\n    for i in range(9):\n"
        "        g = torch.autograd.grad(net(v), v, create_graph=True)  # hot\n        loss = g.norm()  # hot\n"
        "        loss.backward()  # hot\n        optimizer.step()  # hot\n    return v.cpu()\n"
    )


def test_an_optimizer_of_the_project() -> None:
    check_one(
        "class Base(torch.optim.Optimizer):\n    def __init__(self):\n        self.x = 1\n"
        "class Ours(Base):\n    def step(self, closure=None):\n        self.update()  # hot\n    def update(self):\n        x = 1  # hot\n"
        "class Scheduler:\n    def step(self):\n        x = 1\n"
    )


def test_handlers_and_callbacks() -> None:
    check_one(
        "@trainer.on(Events.ITERATION_COMPLETED)\ndef each(engine):\n    x = 1  # hot\n"
        "@trainer.on(Events.ITERATION_COMPLETED(every=100))\ndef some(engine):\n    x = 1\n"
        "@trainer.on(Events.EPOCH_COMPLETED)\ndef rarely(engine):\n    x = 1\n"
        "def added(engine, model):\n    x = 1  # hot\ndef seldom(engine):\n    x = 1\nclass Log:\n    def write(self, engine):\n        x = 1  # hot\n"
        "def attach(trainer, model):\n    trainer.add_event_handler(Events.ITERATION_COMPLETED, added, model)\n"
        "    trainer.add_event_handler(Events.ITERATION_COMPLETED(every=10), seldom)\n"
        "    trainer.add_event_handler(Events.EPOCH_COMPLETED, seldom)\n"
        "    log = Log()\n    trainer.add_event_handler(Events.ITERATION_STARTED, log.write)\n"
        "class A(TrainerCallback):\n    def on_step_end(self, args):\n        x = 1  # hot\n    def on_log(self, args):\n        x = 1\n"
        "class B(HookBase):\n    def after_step(self):\n        x = 1  # hot\n"
        "class C:\n    def after_step(self):\n        x = 1\n    def on_step_end(self):\n        x = 1\n"
        "class D:\n    def train_step(self, batch):\n        x = 1  # hot\n"
        "class E:\n    def train_batch(self, batch):\n        x = 1  # hot\n"
    )


# Through classes


def test_a_step_that_takes_nothing_is_called_by_the_program_alone() -> None:
    trained = "    for x in loader:\n        loss.backward()  # hot\n        optimizer.step()  # hot\n"
    # A viewer trains for a while between two pictures: what it does around that is on no step.
    check(
        {
            "trainer.py": f"class Trainer:\n    def fit(self, loader):\n        begin()\n{indented(trained)}        end()\n",
            "viewer.py": "from trainer import Trainer\nclass Viewer:\n    def train_step(self):\n        trainer = Trainer()\n"
            "        trainer.fit(loader)\n        show()\n",
        }
    )
    # What a base of a library gives may call it, and a method that takes a batch is called by whoever has one.
    check({"a.py": "from lib import Base\nclass D(Base):\n    def train_step(self):\n        x = 1  # hot\n"})
    check({"a.py": "class D:\n    def train_step(self, batch):\n        x = 1  # hot\n"})
    check({"a.py": "class D:\n    def after_train_iter(self):\n        x = 1  # hot\n"})


@pytest.mark.parametrize(
    ("given", "mark"),
    [("not train", ""), ("train", "  # hot"), ("not args.train", "  # hot"), ("not other", "  # hot")],
)
def test_what_is_measured_where_nobody_trains(given: str, mark: str) -> None:
    check_one(
        f"def measure(x, slowly=False):\n    y = x.sum()  # hot\n    if slowly:\n        y = align(x){mark}\n    return y  # hot\n"
        f"def align(x):\n    return x.mean(){mark}\n"
        f"def log(x, train=True):\n    measure(x, slowly=({given}))  # hot\n"
        f"for x in loader:\n    log(x)  # hot\n{STEP}for x in other:\n    log(x, train=False)\n"
    )


def test_methods_of_one_of_two_classes() -> None:
    classes = (
        "class A:\n    def pick(self, x):\n        return x  # hot\n    def other(self, x):\n        return x\n"
        "class B:\n    def pick(self, x):\n        return x  # hot\nclass C:\n    def pick(self, x):\n        return x\n"
    )
    check_one(
        f"{classes}class Runner:\n    def __init__(self, flag):\n        if flag:\n            self.policy = A()\n"
        "        else:\n            self.policy = B()\n"
        f"    def fit(self, loader):\n        for x in loader:\n            self.policy.pick(x)  # hot\n{indented(STEP, 2)}"
    )
    check_one(f"{classes}kind = A if flag else B\npolicy = kind()\nfor x in loader:\n    policy.pick(x)  # hot\n{STEP}")


def test_methods_of_what_a_dictionary_holds_objects_of_three_classes() -> None:
    check_one(
        "class A:\n    def pick(self, x):\n        return x  # hot\nclass B:\n    def pick(self, x):\n        return x  # hot\n"
        "class C:\n    def pick(self, x):\n        return x  # hot\nclass D:\n    def pick(self, x):\n        return x\n"
        "found = {}\nfor k, x in loader:\n    if k not in found:\n        found[k] = A()\n        found[k + 'b'] = B()\n"
        f"        if k:\n            found[k + 'c'] = C()\n    found[k].pick(x)  # hot\n{STEP}"
    )


def test_overrides() -> None:
    classes = (
        "class Base:\n    def pick(self, x):\n        raise NotImplementedError\n"
        "class A(Base):\n    def pick(self, x):\n        return x  # hot\n    def other(self, x):\n        return x\n"
        "class B(A):\n    def pick(self, x):\n        return x  # hot\nclass C:\n    def pick(self, x):\n        return x\n"
    )
    check_one(f"{classes}def fit(policy: Base):\n    for x in loader:\n        policy.pick(x)  # hot\n{indented(STEP)}")
    check(
        {
            "base.py": "class Trainer:\n    def fit(self):\n        for x in loader:\n            self.step(x)  # hot\n"
            f"{indented(STEP, 2)}    def step(self, x):\n        x = 1  # hot\n",
            "ours.py": "from base import Trainer\nclass Ours(Trainer):\n    def step(self, x):\n        y = 2  # hot\n",
            "else.py": "class Trainer:\n    pass\nclass Others(Trainer):\n    def step(self, x):\n        y = 2\n",
        }
    )


LOOP = (
    "class Base:\n    def fit(self):\n        for x in loader:\n            self.after_step(x)  # hot\n"
    f"{indented(STEP, 2)}        self.after_epoch()\n"
    "    def after_step(self, x):\n        pass  # hot\n    def after_epoch(self):\n        pass\n"
)


def test_methods_that_super_finds_in_mixins() -> None:
    mixins = (
        "class A:\n    def after_step(self, x):\n        super().after_step(x)  # hot\n        y = x  # hot\n"
        "    def after_epoch(self):\n        super().after_epoch()\n"
        "class B:\n    def after_step(self, x):\n        y = x  # hot\n        super(B, self).after_step(x)  # hot\n"
        "class Hidden:\n    def after_step(self, x):\n        y = x\n"
        "class Alone:\n    def after_step(self, x):\n        super().after_step(x)\n        y = x\n"
    )
    check_one(f"{LOOP}{mixins}class Ours(A, B, Base, Hidden):\n    pass\n")
    check_one(f"{LOOP}{mixins}class Heir(B, Base):\n    pass\nclass Ours(A, Heir, Hidden):\n    pass\n")
    check({"a.py": LOOP, "b.py": mixins, "c.py": "from a import Base\nfrom b import *\nclass Ours(A, B, Base): pass\n"})


def test_mixins_that_seldom_call_what_is_behind_them() -> None:
    check_one(
        f"{LOOP}class Now:\n    def after_step(self, x):\n        self.n += 1  # hot\n"
        "        if self.n % 100 == 0:\n            super().after_step(x)\n"
        "class Shows:\n    def after_step(self, x):\n        y = x\nclass Ours(Now, Shows, Base):\n    pass\n"
    )


def test_mixins_of_other_classes_stand_in_for_no_method() -> None:
    other = "class Shows:\n    def after_step(self, x):\n        y = x\nclass Other:\n    pass\n"
    check_one(f"{LOOP}{other}class Ours(Shows, Other):\n    pass\n")
    check_one(f"{LOOP}{other}class Ours(Base, Shows):\n    pass\n")
    check_one(f"{LOOP}{other}class Heir(Base):\n    pass\nclass Ours(Shows, Other):\n    heir = Heir()\n")


def test_classes_of_one_base_that_another_is_made_of() -> None:
    """`super()` in one of them finds the next in objects of that class, and their base behind both."""
    check_one(
        f"{LOOP}class A(Base):\n    def after_step(self, x):\n        super().after_step(x)  # hot\n"
        "    def after_epoch(self):\n        super().after_epoch()\n"
        "class B(Base):\n    def after_step(self, x):\n        y = x  # hot\n    def after_epoch(self):\n        y = x\n"
        "class Both(A, B):\n    pass\n"
    )


AROUND = "def {name}(fn):\n    @functools.wraps(fn)\n    def run(*args):\n{body}    return run\n"


def around(name: str, body: str) -> str:
    return AROUND.format(name=name, body=indented(body, 2))


def test_what_decorators_run_around_a_function() -> None:
    traced = around("traced", "out = fn(*args)  # hot\nkept.append(out)  # hot\nreturn out  # hot\n")
    named = (
        "def timed(name):\n    def decorate(fn):\n        def run(*args):\n            x = 1  # hot\n"
        "            return fn(*args)  # hot\n        return functools.update_wrapper(run, fn)\n    return decorate\n"
    )
    used = "@traced\n@timed('a')\ndef show(x):\n    y = x  # hot\n"
    loop = f"for x in loader:\n    show(x)  # hot\n{STEP}"
    check_one(f"{traced}{named}{used}{loop}")
    check({"wraps.py": f"import functools\n{traced}{named}", "a.py": f"from wraps import traced, timed\n{used}{loop}"})
    other = around("other", "x = 1\nreturn fn(*args)\n")
    check_one(f"{other}@other\ndef once(x):\n    return x\ndef show(x):\n    y = x  # hot\nonce(1)\n{loop}")
    check_one(
        f"{traced}class D:\n    @traced\n    def train_step(self, batch):\n        x = 1  # hot\n"
        f"{other}class E:\n    @other\n    def train_epoch(self, loader):\n        for x in loader:\n            y = x  # hot\n{indented(STEP, 2)}"
    )


def test_a_decorator_that_may_give_the_function_itself_runs_nothing_around_it() -> None:
    check_one(
        "def traced(fn):\n    if not TRACES:\n        return fn\n    def run(*args):\n        x = 1\n        return fn(*args)\n    return run\n"
        f"@traced\ndef show(x):\n    y = x  # hot\nfor x in loader:\n    show(x)  # hot\n{STEP}"
    )


@pytest.mark.parametrize(
    ("body", "mark"),
    [
        ("if calls[0] % 100:\n    return None  # hot\nreturn fn(*args)\n", ""),
        ("run.calls += 1  # hot\nif run.calls % 100 == 0:\n    return fn(*args)\n", ""),
        ("if time.time() - run.last < 10:\n    return\nrun.last = time.time()\nreturn fn(*args)\n", ""),
        ("if run.done:\n    return\nrun.done = True\nreturn fn(*args)\n", ""),
        ("if args not in found:\n    found[args] = fn(*args)\nreturn found[args]  # hot\n", "  # hot"),
        ("if DEBUG:\n    return fn(*args)\n", ""),
        ("if DEBUG:\n    return fn(*args)\nreturn fn(*args)  # hot\n", "  # hot"),
        ("if get_rank() != 0:\n    return  # hot\nreturn fn(*args)  # hot\n", "  # hot"),
        ("if args[0] is None:\n    return  # hot\nreturn fn(*args)  # hot\n", "  # hot"),
        (
            "for trial in range(3):\n    try:\n        return fn(*args)  # hot\n    except RuntimeError:\n        x = 1\n",
            "  # hot",
        ),
        (
            "trial = 0  # hot\nwhile trial < 3:\n    try:\n        return fn(*args)  # hot\n    except RuntimeError:\n        trial += 1\n",
            "  # hot",
        ),
    ],
)
def test_a_decorator_that_seldom_calls_the_function(body: str, mark: str) -> None:
    check_one(
        f"{around('traced', body)}@traced\ndef show(x):\n    other(x){mark}\ndef other(x):\n    y = x{mark}\n"
        f"for x in loader:\n    show(x)  # hot\n{STEP}"
    )


def test_a_decorator_for_each_hundredth_call() -> None:
    every = (
        "def every(n):\n    def decorate(fn):\n        def run(*args):\n            run.calls += 1  # hot\n"
        "            if run.calls % n == 0:\n                return fn(*args)\n        return run\n    return decorate\n"
        "def inner(fn):\n    def run(*args):\n        x = 1\n        return fn(*args)\n    return run\n"
    )
    loop = f"for x in loader:\n    show(x)  # hot\n    tell(x)  # hot\n{STEP}"
    check_one(
        f"{every}@every(100)\n@inner\ndef show(x):\n    y = x\n@every(n=1)\ndef tell(x):\n    y = x  # hot\n{loop}"
    )


FIELDS = (
    "from dataclasses import dataclass, field\n"
    "@dataclass\nclass Log:\n    every: int = 1\n    stats: bool = False\n    images: bool = True\n"
    "@dataclass\nclass Config:\n    lr: float = 1e-3\n    slow: bool = False\n    log: Log = field(default_factory=Log)\n"
)
ASKS = "    if cfg.log.stats:\n        x = 1{stats}\n    if cfg.slow:\n        x = 1{slow}\n    if cfg.log.images:\n        x = 1  # hot\n"


def fit(stats: str = "", slow: str = "") -> str:
    return f"for x in loader:\n{ASKS.format(stats=stats, slow=slow)}{STEP}"


TARGETS = (
    "from dataclasses import dataclass, field\nfrom typing import Type\n"
    "@dataclass\nclass Makes:\n    _target: Type\n    def setup(self, **kwargs):\n        return self._target(self, **kwargs)\n"
    "class Writer:\n    def __init__(self, config): ...\n    def losses(self):\n        x = 1{writer}\n"
    "@dataclass\nclass WriterConfig(Makes):\n    _target: Type = field(default_factory=lambda: Writer)\n"
    "@dataclass\nclass NetConfig(Makes):\n    _target: Type = field(default_factory=lambda: Net)\n"
    "class Net:\n    def __init__(self, config): ...\n    def losses(self):\n        x = 1{net}\n"
)


def test_a_configuration_makes_what_its_own_class_names() -> None:
    net = "class Trainer:\n    def __init__(self, config: NetConfig):\n        self.net = config.setup()\n"
    run = "    def fit(self):\n        for x in loader:\n            x = self.net.losses()  # hot\n            loss.backward()  # hot\n"
    check_one(TARGETS.format(writer="", net="  # hot") + net + run)
    writer = net.replace("NetConfig", "WriterConfig")
    check_one(TARGETS.format(writer="  # hot", net="") + writer + run)


def test_fields_of_dataclasses_that_no_call_gives() -> None:
    check({"config.py": FIELDS, "train.py": f"from config import Config\ncfg = Config(lr=0.1)\n{fit()}"})
    given = "from config import Config, Log\ncfg = Config(0.1, True, log=Log(stats=True))\n"
    check({"config.py": FIELDS, "train.py": given + fit("  # hot", "  # hot")})
    check(
        {
            "config.py": FIELDS,
            "train.py": f"from config import Config\ncfg = Config()\n{fit()}",
            "tests/test_it.py": "from config import Config\ndef test_it():\n    run(Config(slow=True))\n",
        }
    )
    own = (
        "class Trainer:\n    def __init__(self, cfg: Config):\n        self.cfg = cfg\n    def fit(self):\n        for x in loader:\n"
        f"            if self.cfg.slow:\n                x = 1\n{indented(STEP, 2)}Trainer(Config()).fit()\n"
    )
    check_one(FIELDS + own)


@pytest.mark.parametrize(
    "filled",
    [
        "cfg = Config(**read('a.json'), log=Log(**read('b.json')))\n",
        "cfg = tyro.cli(Config)\n",
        "cfg = made(Config)\n",
        "cfg = Config()\ncfg.log.stats = cfg.slow = True\n",
        "cfg = Config()\nfor k, v in given.items():\n    setattr(cfg, k, v)\n",
        "cfg = Config()\ncfg.__dict__.update(given)\n",
        "cfg = Config()\ncfg.__dict__['slow'] = cfg.log.__dict__['stats'] = True\n",
        "cfg = Config()\ncfg.slow, cfg.log.stats, n = True, True, 3\n",
        "cfg = Config()\ncfg.slow: bool = True\ncfg.log.stats: bool = True\n",
        "cfg = Config()\nfor cfg.slow in flags:\n    pass\nfor cfg.log.stats in flags:\n    pass\n",
        "cfg = Config()\nobject.__setattr__(cfg, 'slow', True)\nobject.__setattr__(cfg.log, 'stats', True)\n",
        "cfg = parser.parse_args(namespace=Config())\n",
        "cfg = dataclasses.replace(Config(), **given)\n",
        "@draccus.wrap()\ndef main(cfg: Config):\n    pass\ncfg = Config()\n",
        "class Ours(Config):\n    slow = True\nclass OurLog(Log):\n    stats = True\ncfg = Ours()\nother = Config()\n",
    ],
)
def test_fields_of_dataclasses_that_something_else_fills(filled: str) -> None:
    check_one(f"{FIELDS}{filled}{fit('  # hot', '  # hot')}")


def test_fields_that_calls_do_not_give_by_place() -> None:
    """What stands first among the fields of a class is given by its name alone, or makes its own objects."""
    for odd in (
        "    count: ClassVar[int] = 0\n",
        "    _: KW_ONLY\n",
        "    made: int = field(default=1, init=False)\n",
        "    made: int = field(default=1, kw_only=True)\n",
    ):
        odd_log = FIELDS.replace("class Log:\n", f"class Log:\n{odd}").replace(
            "class Config:\n", f"class Config:\n{odd}"
        )
        check_one(f"{odd_log}cfg = Config(0.1, True, Log(1, True))\n{fit('  # hot', '  # hot')}")
    made = "    @classmethod\n    def of(cls, given):\n        return cls(**given)\n"
    own = FIELDS.replace("    images: bool = True\n", f"    images: bool = True\n{made}") + made
    check_one(f"{own}cfg = Config()\n{fit('  # hot', '  # hot')}")


def test_dataclasses_that_nobody_makes() -> None:
    check_one(f"{FIELDS}def main(cfg: Config):\n{indented(fit('  # hot', '  # hot'))}")


def test_an_object_of_a_known_class_runs_no_override() -> None:
    check_one(
        "class Base:\n    def pick(self, x):\n        return x  # hot\nclass A(Base):\n    def pick(self, x):\n        return super().pick(x)\n"
        f"policy = Base()\nfor x in loader:\n    policy.pick(x)  # hot\n{STEP}"
    )


def test_a_method_of_a_sibling_class_is_no_override() -> None:
    check(
        {
            "base.py": "class Client:\n    def data(self):\n        return 1  # hot\n    def tell(self):\n        return self.data()\n",
            "a.py": "from base import Client\nclass A(Client):\n    def fit(self):\n        for x in loader:\n"
            f"            self.data()  # hot\n{indented(STEP, 2)}",
            "b.py": "from base import Client\nclass B(Client):\n    def data(self):\n        return 2\n"
            "    def count(self):\n        return self.data()\n",
        }
    )
    check_one(
        "class Server:\n    def gather(self):\n        return 1  # hot\n    def average(self):\n        return 2\n"
        "class A(Server):\n    def fit(self):\n        for x in loader:\n            self.gather()  # hot\n"
        f"            loss = 1  # hot\n{indented(STEP, 2)}"
        "class B(Server):\n    def gather(self):\n        return 3\n"
        "class C(A):\n    def gather(self):\n        return 4  # hot\n"
    )


def test_an_object_in_an_attribute_may_be_of_any_subclass() -> None:
    check_one(
        "class Pairs(nn.Module):\n    def forward(self, x):\n        raise NotImplementedError\n"
        "class All(Pairs):\n    def forward(self, x):\n        return x  # hot\n"
        "class Net(nn.Module):\n    def __init__(self, pairs: Pairs):\n        super().__init__()\n        self.pairs = pairs\n"
        "    def forward(self, x):\n        return self.pairs(x)  # hot\n"
        f"def fit(net: Net):\n    for x in loader:\n        net(x)  # hot\n{indented(STEP)}"
    )


def test_steps_in_a_sibling_class_are_no_steps_of_an_override() -> None:
    check_one(
        "class Server:\n    def gather(self):\n        pass\n"
        "class A(Server):\n    def fit(self):\n        for x in loader:\n            self.gather()\n"
        "class B(Server):\n    def gather(self):\n        loss.backward()  # hot\n        optimizer.step()  # hot\n"
        "class C(A):\n    def gather(self):\n        pass\n"
    )


def test_a_loop_over_all_modules_of_a_model_evaluates_none() -> None:
    check_one(
        "class Scale(nn.Module):\n    def forward(self):\n        return self.w * 2\n"
        "class Adapter(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.base = Scale()\n        self.scales = nn.ModuleList([Scale()])\n"
        "    def weight(self):\n        return self.base()\n"
        "def report(model, writer):\n"
        "    for name, module in model.named_modules():\n        if isinstance(module, Adapter):\n"
        "            y = module.weight()\n"
        "            for scale in module.scales:\n                y = scale()\n"
        "    for i, module in enumerate(model.modules()):\n        y = module(i)\n"
        "def run(model, batches):\n    for x in batches:\n        y = model(x)  # warm\n"
        "        for module in model.modules():\n            z = module  # warm\n"
    )


def test_methods_that_subclasses_alone_have() -> None:
    classes = (
        "class Base:\n    def name(self, x):\n        return x\n"
        "    @classmethod\n    def load(cls, path):\n        return cls(path)\n"
        "class A(Base):\n    def pick(self, x):\n        return x  # HOT\n    def other(self, x):\n        return x\n"
        "class B(A):\n    def pick(self, x):\n        return x  # HOT\n"
        "class C:\n    def pick(self, x):\n        return x\n"
        "class D(Base):\n    def name(self, x):\n        return x\n"
    )
    loop = f"    for x in loader:\n        policy.pick(x)  # hot\n{indented(STEP)}"
    cold, hot = classes.replace("  # HOT", ""), classes.replace("HOT", "hot")
    check_one(f"{cold}def fit(policy: D):\n{loop}")
    check_one(f"{cold}def fit():\n    policy = Base('a')\n{loop}")
    check_one(f"{cold}def fit():\n    policy = D.load('a')\n{loop.replace('pick', 'append')}")
    check_one(f"{hot}def fit(policy: Base):\n{loop}")
    check_one(f"{hot}def fit():\n    policy = Base.load('a')\n{loop}")


def test_evaluation_by_a_method_that_subclasses_alone_have() -> None:
    check_one(
        "class Base(nn.Module):\n    pass\n"
        "class Net(Base):\n    def __init__(self):\n        super().__init__()\n        self.head = nn.Linear(1, 1)\n"
        "    def scores(self, x):\n        return self.head(x)\n    def width(self, x):\n        return len(x)\n"
        "def evaluate(net: Base):\n    for x in batches:\n        y = net.scores(x)  # warm\n"
        "    for x in batches:\n        y = net.width(x)\n    for x in batches:\n        y = net.nowhere(x)\n"
    )


def test_evaluation_by_a_method_that_modules_alone_have() -> None:
    net = "class Net(nn.Module):\n    def recognize(self, x):\n        return self.forward(x)\n"
    other = "class Listener:\n    def recognize(self, x):\n        return 1\n"
    loop = (
        "def validate(model: nn.Module):\n    for x in batches:\n"
        "        if isinstance(model, nn.DataParallel):\n            y = model.module.recognize(x){mark}\n"
        "        else:\n            y = model.recognize(x){mark}\n"
    )
    check_one(f"{net}{other}{loop.format(mark='')}")
    check_one(f"{net}{net.replace('Net', 'Unrelated')}{loop.format(mark='')}")
    check_one(f"{net.replace('self.forward(x)', 'len(x)')}{loop.format(mark='')}")
    check_one(f"{net}{loop.format(mark='  # warm')}")


@pytest.mark.parametrize(
    ("made", "call", "mark"),
    [
        ("AutoencoderKL.from_pretrained(name).to(device)", "decode(x)", "  # warm"),
        ("CLIPModel.from_pretrained(name)", "get_image_features(x)", "  # warm"),
        ("AutoencoderKL.from_pretrained(name)", "decode()", ""),
        ("AutoencoderKL.from_pretrained(name)", "register(x)", ""),
        ("CLIPTokenizer.from_pretrained(name)", "decode(x)", ""),
        ("Codec(name)", "decode(x)", ""),
        ("Own()", "decode(x)", ""),
    ],
)
def test_evaluation_by_a_method_of_a_model_of_a_library(made: str, call: str, mark: str) -> None:
    own = "class Own(nn.Module):\n    def decode(self, x):\n        return len(x)\n"
    libraries = "from diffusers import AutoencoderKL\nfrom transformers import CLIPModel, CLIPTokenizer\n"
    loop = f"def run(latents):\n    one = {made}\n    for x in latents:\n        y = one.{call}{mark}\n        print(y){mark}\n"
    check_one(f"{libraries}{own}{loop}")


_FACTORY = (
    "def get_step(train, name=None):\n    def step(batch):\n        if train:\n"
    "            loss.backward()  # hot\n            optimizer.step()  # hot\n        return loss  # hot\n    return step\n"
)


@pytest.mark.parametrize(
    ("made", "mark"),
    [
        ("get_step(True)", "  # hot"),
        ("get_step(train=flag)", "  # hot"),
        ("get_step(True, name=False)", "  # hot"),
        ("get_step(False)", ""),
        ("get_step(train=False)", ""),
    ],
)
def test_a_factory_is_told_whether_what_it_makes_steps(made: str, mark: str) -> None:
    loop = f"def run(loader, flag):\n    one = {made}\n    for batch in loader:\n        y = one(batch){mark}\n"
    check_one(f"{_FACTORY}{loop}")


def test_methods_that_one_family_of_classes_has() -> None:
    check(
        {
            "tasks.py": "class Task:\n    def compute_metrics(self, x):\n        y = 1  # hot\n    def compute_others(self, x):\n        y = 1\n"
            "    def update(self, x):\n        y = 1\nclass Small(Task):\n    def compute_metrics(self, x):\n        y = 2  # hot\n",
            "other.py": "class Other:\n    def compute_others(self, x):\n        y = 1\n",
            "train.py": "def fit(task):\n    for x in loader:\n        task.compute_metrics(x)  # hot\n        task.compute_others(x)  # hot\n"
            f"        task.update(x)  # hot\n        sklearn.metrics.compute_metrics(x)  # hot\n{indented(STEP)}",
        }
    )
    check(
        {
            "tasks.py": "class Task:\n    def optimizer_step(self, optimizer):\n        optimizer.step()  # hot\n",
            "train.py": "class Trainer:\n    def __init__(self, task):\n        self.task = task\n"
            "    def update(self, x):\n        self.task.optimizer_step(self.optimizer)  # hot\n"
            "trainer = Trainer(make())\nfor x in loader:\n    trainer.update(x)  # hot\n",
        }
    )
    net = "from torch import nn\nclass net(nn.Module):\n    def train_forward(self, x):\n        y = 1  # hot\n"
    check(
        {
            "models/small.py": net,
            "models/large.py": net,
            "train.py": "model = imported(config)\nnet = model.net(config).cuda()\noptimizer = Adam(net.parameters())\n"
            "for x in loader:\n    results = net.train_forward(x)  # hot\n    results['loss'].backward()  # hot\n"
            "    optimizer.step()  # hot\n",
        }
    )


def test_methods_that_can_not_be_called_so() -> None:
    heads = (
        "class Head(nn.Module):\n    def forward_test(self, x, cfg):\n        return x  # hot\n"
        "class Spread(Head):\n    def forward_test(self, *given):\n        return given  # hot\n"
        "class Longer(Head):\n    def forward_test(self, x, cfg, scale=1):\n        return x  # hot\n"
        "class Other(Head):\n    def forward_test(self, x, cfg, *, scale):\n        return x\n"
        "class Wrapped(Head):\n    @register\n    def forward_test(self, x):\n        return x  # hot\n"
    )
    check_one(
        f"{heads}class Segmentor(nn.Module):\n    def __init__(self, heads):\n        super().__init__()\n        self.heads = heads\n"
        "    def forward_test(self, images, **options):\n        return self.save(images)\n"
        "    def save(self, images):\n        return images.cpu()\n"
        "    def training_step(self, x):\n        return self.heads[0].forward_test(x, self.cfg)  # hot\n"
    )
    check_one(
        "class Base:\n    def pick(self, x):\n        return x  # hot\nclass A(Base):\n    def pick(self, x, y):\n        return x\n"
        f"def fit(policy: Base):\n    for x in loader:\n        policy.pick(x)  # hot\n{indented(STEP)}"
    )


def test_trainers_of_trl() -> None:
    check_one(
        "class Plain:\n    def get_batch_loss_metrics(self, model, batch):\n        x = 1\n"
        "class Ours(KTOTrainer):\n    def get_batch_loss_metrics(self, model, batch):\n        x = self.reward(batch)  # hot\n"
        "    def _compute_loss(self, model, inputs):\n        x = 1  # hot\n"
        "    def reward(self, batch):\n        return 1  # hot\n"
        "    def log(self, logs):\n        x = 1\n"
    )


def test_a_function_that_steps_when_gradients_are_gathered() -> None:
    """What stands behind the condition of all its steps is as rare as these, and no rarer."""
    check_one(
        "def log(step):\n    if step % 10 == 0:\n        print(step)\n    if step % config['every'] == 0:\n        write(step)\n"
        "def update(model, optimizer, step):\n    norm = 0.0  # hot\n"
        "    if (step + 1) % config['every'] == 0:\n        norm = clip(model)  # weak\n        if finite(norm):\n"
        "            optimizer.step()  # weak\n        optimizer.zero_grad()  # weak\n"
        "    if step % 100 == 0:\n        save(model)\n"
        "for step, batch in enumerate(loader):\n    model(batch).backward()  # hot\n    update(model, optimizer, step)  # hot\n"
        "    log(step)  # hot\n"
    )


def test_functions_that_are_called_after_a_model() -> None:
    check_one(
        "def sample(v_pred_fn, z, sigmas):\n    for sigma in sigmas:\n        z = z - v_pred_fn(z, sigma)  # warm\n    return z\n"
        "def score(names, key_fn):\n    for name in names:\n        x = key_fn(name)\n"
        "def build(names, make_model_fn):\n    for name in names:\n        x = make_model_fn(name)\n"
        "def start(net, z):\n    def v_pred_fn(x, t):\n        return net(x, t)\n    return sample(v_pred_fn, z, [1, 2])\n"
    )


def test_methods_that_frameworks_call() -> None:
    check_one(
        "class Lit(LightningModule):\n    def training_step(self, batch, i):\n        return self.compute(batch)  # hot\n"
        "    def compute(self, batch):\n        return batch.sum()  # hot\n    def validation_step(self, batch, i):\n        return batch\n"
        "    def on_train_batch_end(self):\n        x = 1  # hot\n"
        "class MyTrainer(Trainer):\n    def compute_loss(self, model, inputs):\n        return 1  # hot\n"
        "class Other:\n    def compute_loss(self, model, inputs):\n        return 1\n"
        "def training_step(batch):\n    return batch\n"
    )


STEPS_ITSELF = """\
def {name}({given}):
    loss = criterion(model(x), y){mark}
    loss.backward(){mark}
    optimizer.step(){mark}
    return loss.item(){mark}
"""


@pytest.mark.parametrize(
    ("around", "hot"),
    [
        ("def build(model, optimizer):\n{step}", False),
        ("def build(model, optimizer):\n{step}    update(1, 2)\n", False),
        ("def build(model, optimizer):\n{step}    log(update(1, 2))\n    return Engine(update)\n", False),
        ("def build(model, optimizer):\n{step}    mp.spawn(update, nprocs=2)\n", False),
        ("def build(model, optimizer):\n{step}    thread = Thread(target=update)\n", False),
        ("def build(model, optimizer):\n{step}    return Engine(update)\n", True),
        ("def build(model, optimizer):\n{step}    return Engine(process_function=update)\n", True),
        ("def build(model, optimizer):\n{step}    return update\n", True),
    ],
)
def test_a_step_that_is_only_handed_on(around: str, hot: bool) -> None:
    mark = "  # hot" if hot else ""
    check_one(around.format(step=indented(STEPS_ITSELF.format(name="update", given="engine, batch", mark=mark))))
    if hot:
        # What a module has at its top may be given to many things that call it once.
        check_one(STEPS_ITSELF.format(name="update", given="engine, batch", mark="") + "engine = Engine(update)\n")


@pytest.mark.parametrize(
    ("code", "spoken_of", "hot"),
    [
        ("def plot_loss(x, y):\n    return (x.sum() - y){mark}\n", "plot_loss", False),
        ("def _pixel_loss(x, y):\n    return F.l1_loss(x, y){mark}\n", "_pixel_loss", False),
        ("def pixel_loss(x):\n    return F.l1_loss(x, 1){mark}\n", "pixel_loss", False),
        ("def pixel_loss(a, n):\n    return nn.CrossEntropyLoss(torch.ones(n)){mark}\n", "pixel_loss", False),
        ("def pixel_loss(x, y):\n    return F.l1_loss(x, y){mark}\npixel_loss(1, 2)\n", "pixel_loss", False),
        ("def pixel_loss(x, y):\n    return F.l1_loss(x, y).cpu(){mark}\n", "pixel_loss", False),
        ("def pixel_loss(x, y):\n    return F.l1_loss(x, y){mark}\n", "another", False),
        ("def pixel_loss(x, y):\n    return F.l1_loss(x, y){mark}\n", "pixel_loss", True),
        ("def pixel_loss(x, y):\n    return F.l1_loss(x, y){mark}\nlosses = [pixel_loss]\n", "another", True),
        ("@losses.register\ndef pixel_loss(x, y):\n    return F.l1_loss(x, y){mark}\n", "another", True),
        ("def get_loss(x, y):\n    loss = F.l1_loss(x, y){mark}\n    return loss, y{mark}\n", "get_loss", True),
        (
            "def a_loss(x, y):\n    return F.l1_loss(x, y){mark}\ndef get_loss(x, y):\n    return a_loss(x, y){mark}\n",
            "get_loss",
            True,
        ),
        ("class Net:\n    def loss(self, x, y):\n        return F.l1_loss(x, y){mark}\n", "loss", True),
        ("class Net:\n    def loss(self, x):\n        return F.l1_loss(x, 1){mark}\n", "loss", False),
        ("class Net(nn.Module):\n    def loss(self):\n        return F.l1_loss(self.a, 1){mark}\n", "loss", False),
        (
            "class Net(nn.Module):\n    def get_loss(self, name):\n        return self.losses[name]{mark}\n",
            "get_loss",
            False,
        ),
        ("class Net(nn.Module):\n    def loss(self, x):\n        return F.l1_loss(x, 1).cpu(){mark}\n", "loss", False),
        ("class Net(nn.Module):\n    def loss(self, x):\n        return F.l1_loss(x, 1).item(){mark}\n", "loss", False),
        ("class Net(nn.Module):\n    def loss(self, x):\n        return F.l1_loss(x, 1){mark}\n", "another", False),
        ("class Net(nn.Module):\n    def loss(self, x):\n        return F.l1_loss(x, 1){mark}\n", "loss", True),
        ("def get_losses(x, y):\n    return {{'loss': F.l1_loss(x, y).item()}}{mark}\n", "get_losses", False),
        ("def get_losses(x, y):\n    return {{'loss': 'l1', 'weight': 3}}{mark}\n", "get_losses", False),
        ("def get_losses(x, y):\n    return {{}}{mark}\n", "get_losses", False),
        (
            "def get_losses(x, y):\n    found = {{}}{mark}\n    found['a'] = F.l1_loss(x, y){mark}\n    return found, 3{mark}\n",
            "get_losses",
            True,
        ),
    ],
)
def test_losses_without_a_known_caller_are_there_for_who_trains(code: str, spoken_of: str, hot: bool) -> None:
    head = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
    losses = head + code.format(mark="  # hot" if hot else "")
    check({"losses.py": losses, "train.py": f"def fit(model, config):\n    run(model, config.{spoken_of})\n"})


# Conditions


def test_the_first_few_that_are_kept_and_the_last_step() -> None:
    check_one(
        "kept = []\nfor i, x in enumerate(loader, start=1):\n    loss = model(x)  # hot\n    loss.backward()  # hot\n    optimizer.step()  # hot\n"
        "    if len(kept) < 15:\n        kept.append(loss)\n"
        "    if i % 10 == 0 or i >= len(loader):\n        show(loss)\n    if i > len(loader) - 2:\n        save()\n"
        "    if len(x) > len(loader):\n        x = 1  # hot\n    if i >= start:\n        x = 2  # hot\n"
        "    if len(rows) < 15:\n        keep(loss)  # hot\n"
        "    recent = []  # hot\n    if len(recent) < 15:\n        recent.append(loss)  # hot\n"
        "    if len(queue) < 15:\n        queue.append(loss)  # hot\n    queue.pop()  # hot\n"
    )


def test_throttles_in_the_loop() -> None:
    check_one(
        "for i, batch in enumerate(loader):\n"
        + STEP
        + "    if i % 100 == 0:\n        log(loss)\n    if use_amp:\n        x = 1  # hot\n"
        "    if i % log_every:\n        continue\n    report()\n"
    )


def test_places_on_the_way_out() -> None:
    check_one(
        "def train():\n    for batch in loader:\n        loss.backward()  # hot\n"
        "        if bad:\n            print(loss)\n            break\n"
        "        if worse:\n            print(loss)\n            raise ValueError\n"
        "        if worst:\n            print(loss)\n            sys.exit(1)\n"
        "        if done_now:\n            print(loss)\n            return\n"
        "        try:\n            x = 1  # hot\n        except E:\n            y = 1\n"
    )


def test_what_is_filled_once() -> None:
    check_one(
        "class Net:\n    def forward(self, mask):\n"
        "        if self.mask is None:\n            self.mask = 1\n"
        "        if mask is None:\n            mask = 2  # hot\n"
        "        if self.other is None:\n            x = 3  # hot\n"
        "        if self.size != 4 or self.table is None:\n            self.table = 5\n"
        "        if self.size != 4 and self.rows is None:\n            self.rows = 5\n"
        "        if self.last is None:\n            self.last = 4  # hot\n        self.last = None  # hot\n"
        "total = None\nbest = None\nfor best in loader:\n    Net.forward(best)  # hot\n"
        "    if total is None:\n        total = 1\n    else:\n        total += 1  # hot\n"
        "    if seen is None:\n        seen = 1\n    seen = seen.view(-1)[3]  # hot\n"
        "    if best is not None:\n        y = 1  # hot\n    else:\n        best = 5  # hot\n" + STEP
    )


@pytest.mark.parametrize(
    ("before", "again", "rare"),
    [
        ("    global first\n", "", True),
        ("    global first\n", "        first = 0\n", False),
        ("    first = 0\n", "", False),
    ],
)
def test_a_number_of_the_module_that_is_worked_out_once(before: str, again: str, rare: bool) -> None:
    mark = "" if rare else "  # hot"
    again = again.replace("\n", "  # hot\n")
    check_one(
        f"first = 0\ndef train():\n{before}    for batch in loader:\n        loss.backward()  # hot\n{again}"
        f"        if first == 0:\n            first = loss.item(){mark}\n"
    )


@pytest.mark.parametrize(("back", "rare"), [("", True), ("        self.at = 0\n", False)])
def test_a_plan_that_is_gone_through_once(back: str, rare: bool) -> None:
    mark = "" if rare else "  # hot"
    check(
        {
            "train.py": (
                "class Net:\n    def __init__(self):\n        self.at = 0\n"
                f"    def train(self):\n        x = 1  # hot\n{back.replace(chr(10), '  # hot' + chr(10))}"
                "    def advance(self, n):\n        step = n  # hot\n"
                "        while self.at < len(self.plan) and n >= self.plan[self.at]:\n"
                f"            self.size = self.plan[self.at].item(){mark}\n            self.at += 1{mark}\n"
                "        while self.other < 3:\n            n = 1  # hot\n"
                "net = Net()\nfor x in y:\n    net.train()  # hot\n    net.advance(1)  # hot\n" + STEP
            )
        }
    )


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ("plan(x, 'even')", "even"),
        ("plan(x, kind='even')", "even"),
        ("plan(x, 'even')\n    plan(x, 'odd')", "even odd"),
        ("spread(x)", "even"),
        ("spread(x, 'odd')", "odd"),
        ("spread(x)\n    spread(x, kind='odd')", "even odd"),
        # What may be any word.
        ("plan(x, x.kind)", "even odd wild"),
        ("plan(x, *x)", "even odd wild"),
        ("spread(x, kind=x.kind)", "even odd wild"),
        ("chosen(x)", "even odd wild"),
    ],
)
def test_the_words_that_all_calls_give(calls: str, words: str) -> None:
    tests = "".join(
        f"    if kind == '{word}':\n        y = x{'  # hot' if word in words else ''}\n"
        for word in ("even", "odd", "wild")
    )
    called = calls.replace("\n", "  # hot\n") + "  # hot"
    used = "  # hot" if "spread" in calls else ""
    check_one(
        f"def plan(x, kind):\n{tests}    return x  # hot\n"
        f"def spread(x, kind='even'):\n    return plan(x, kind){used}\n"
        # Nobody calls this one: it gives nothing.
        "def scatter(x, kind):\n    return plan(x, kind)\n"
        + ("def chosen(x):\n    kind = x.kind  # hot\n    return plan(x, kind)  # hot\n" if "chosen" in calls else "")
        + f"for x in loader:\n    {called}\n{STEP}"
    )


@pytest.mark.parametrize(("sets", "wild"), [("", False), ("    kind = x.kind  # hot\n", True)])
def test_a_word_that_a_function_sets_anew(sets: str, wild: bool) -> None:
    check_one(
        f"def plan(x, kind):\n{sets}    if kind == 'wild':\n        y = x{'  # hot' if wild else ''}\n    return x  # hot\n"
        f"for x in loader:\n    plan(x, 'even')  # hot\n{STEP}"
    )


PRUNER = (
    "class Pruner:\n    def __init__(self, net):\n        self.net = net\n    def step(self):\n        self.net.cut()\n"
)


@pytest.mark.parametrize(
    ("pruner", "main"),
    [
        # A class that updates by itself, one that is unknown, and a file that has an optimizer, too.
        (PRUNER.replace("self.net.cut()", "for p in self.net.parameters():\n            p.data -= p.grad  # hot"), ""),
        (PRUNER.replace("class Pruner", "class Pruner(Stepper)"), "tool = made(net)\n"),
        (PRUNER, "optimizer = torch.optim.SGD(net.parameters())\n"),
    ],
)
def test_gradients_for_what_may_be_an_optimizer(pruner: str, main: str) -> None:
    pruner = pruner.replace("self.net.cut()", "self.net.cut()  # hot") if not main.startswith("tool") else pruner
    loop = "for x in y:\n    loss = net(x)  # hot\n    loss.backward()  # hot\n    tool.step()  # hot\n"
    made = "" if main.startswith("tool") else "tool = Pruner(net)\n"
    check({"cut.py": pruner, "train.py": f"from cut import Pruner\n{made}{main}{loop}"})


def test_gradients_for_what_is_no_optimizer() -> None:
    loop = "for x in y:\n    loss = net(x)  # warm\n    loss.backward()  # warm\n    tool.step()  # warm\n"
    check({"cut.py": PRUNER, "train.py": f"from cut import Pruner\ntool = Pruner(net)\n{loop}"})


@pytest.mark.parametrize(
    ("test", "made", "more", "rare"),
    [
        ("self.weight != self.first", "torch.tensor(self.first)", "", True),
        ("self.rate == 1.0 and self.first != self.weight", "self.first", "", True),
        ("self.weight != self.first", "self.first.clone()", "", True),
        # Another number, a number that moves, one of a call, and what makes nothing equal.
        ("self.weight != self.first", "torch.tensor(self.other)", "", False),
        ("self.weight != self.first", "self.first + 1", "", False),
        ("self.weight != self.first", "self.first", "    def wind(self):\n        self.first = 2\n", False),
        ("self.weight != x", "x", "", False),
        ("self.weight == self.first", "self.first", "", False),
        ("self.weight != self.set_by_others", "self.set_by_others", "", False),
        ("self.weight != self.first or x", "self.first", "", False),
    ],
)
def test_what_makes_equal_what_differs(test: str, made: str, more: str, rare: bool) -> None:
    check_one(
        "class Loss:\n    def __init__(self, first):\n        self.first = first\n"
        f"    def decay(self, x):\n        if {test}:\n            self.weight = {made}{'' if rare else '  # hot'}\n{more}"
        f"loss = Loss(3)\nfor x in loader:\n    loss.decay(x)  # hot\n{STEP}"
    )


def test_what_a_method_does_once() -> None:
    check_one(
        "class Codes:\n    def step(self, z):\n"
        "        if self.fresh and self.training:\n            self.begin(z)\n            y = 1\n"
        "        if self.fresh:\n            self.other(z)  # hot\n"
        "        if self.last:\n            self.begin(z)  # hot\n"
        "    def begin(self, z):\n        self.fresh = False  # hot\n        x = 1  # hot\n"
        "    def other(self, z):\n        x = 1  # hot\n"
        "class Once:\n    def step(self, z):\n        if not self.ready:\n            self.begin(z)\n"
        "    def begin(self, z):\n        self.ready = True\n        x = 1\n"
        "codes, once = Codes(), Once()\nfor batch in loader:\n    codes.step(batch)  # hot\n    once.step(batch)  # hot\n"
        + STEP
    )


def test_what_a_method_fills_once() -> None:
    check_one(
        "class Clock:\n    @property\n    def index(self):\n        return self._index  # hot\n"
        "    def step(self):\n        if self.index is None:\n            self.start()\n"
        "        if self.other is None:\n            self.start()  # hot\n"
        "        if self.last is None:\n            self.wind()  # hot\n        self.last = None  # hot\n"
        "        if self.made is None:\n            x = self.wind()  # hot\n"
        "        if self.index is None and self.ready is not None:\n            self.log(1)\n            self.start()\n"
        "    def start(self):\n        self._index = 4  # hot\n"
        "    def wind(self):\n        self.last = self.made = 4  # hot\n"
        "class Wound:\n    def step(self):\n        if self.index is None:\n            self.start()\n"
        "        if self.index is not None:\n            self.go()  # hot\n"
        "    def start(self):\n        self.index = 4\n    def go(self):\n        self.index = 5  # hot\n"
        "clock, wound = Clock(), Wound()\nfor batch in loader:\n    clock.step()  # hot\n    wound.step()  # hot\n"
        + STEP
    )


def test_what_a_cache_does_not_hold() -> None:
    check_one(
        "class Net:\n    def forward(self, size):\n        if size == self.size and self.table is not None:\n"
        "            return self.table  # hot\n        x = 1\n        self.table = x\n        return x\n"
        "    def other(self, size):\n        if self.table is not None:\n            return size  # hot\n        y = 1  # hot\n"
        "for n in loader:\n    Net.forward(n)  # hot\n    Net.other(n)  # hot\n" + STEP
    )


def test_what_the_groups_of_an_optimizer_keep() -> None:
    check_one(
        "class Scaled:\n    def step(self, rows):\n"
        "        group = self.param_groups[0]  # hot\n"
        "        if 'mean' not in group:\n            group['mean'] = 0\n"
        "        for group in self.param_groups:\n"
        "            if 'rows' not in group:\n                group['rows'] = 0\n"
        "            group['step'] += 1  # hot\n"
        "        for row in rows:\n"
        "            if 'rows' not in row:\n                row['rows'] = 0  # hot\n"
        "        for row in self.rows():\n"
        "            if 'rows' not in row:\n                row['rows'] = 0  # hot\n"
        "scaled = Scaled()\nfor x in loader:\n    scaled.step(x)  # hot\n" + STEP
    )


@pytest.mark.parametrize(("names", "kept"), [(19, True), (20, False), (3000, False)])
def test_containers_are_followed_some_way(names: int, kept: bool) -> None:
    chain = "".join(f"    x{i} = x{i - 1}['x']  # hot\n" for i in range(1, names + 1))
    mark = "" if kept else "  # hot"
    check_one(
        f"for x in loader:\n    x0 = self.state  # hot\n{chain}"
        f"    if 'y' not in x{names}:\n        x{names}['y'] = 1{mark}\n" + STEP
    )


def test_what_a_caller_keeps() -> None:
    check_one(
        "class Scaled:\n    def step(self, x):\n"
        "        state = self.state[x]  # hot\n        fresh = {}  # hot\n"
        "        self.fill(state, x)  # hot\n        self.refill(fresh)  # hot\n        self.either(state)  # hot\n"
        "        self.either(fresh)  # hot\n"
        "    def fill(self, state, x):\n"
        "        if len(state) == 0:\n            state['mean'] = 0\n"
        "        if 'x' not in state:\n            state['x'] = x\n"
        "        if 'y' not in state:\n            x = 1  # hot\n"
        "        state['mean'] += 1  # hot\n"
        "    def refill(self, state):\n"
        "        if 'mean' not in state:\n            state['mean'] = 0  # hot\n"
        "    def either(self, state):\n"
        "        if 'mean' not in state:\n            state['mean'] = 0  # hot\n"
        "scaled = Scaled()\nfor x in loader:\n    scaled.step(x)  # hot\n" + STEP
    )


def test_counters_under_a_key() -> None:
    check_one(
        "class Scaled:\n    def step(self, x):\n        group = self.groups[0]  # hot\n"
        "        if group['step'] == 0:\n            x = 1\n"
        "        if group['norm'] == 0:\n            x = 1  # hot\n"
        "        if group[0] == 0:\n            x = 1  # hot\n"
        "        if group['step'] % 10 == 0:\n            x = 1\n"
        "scaled = Scaled()\nfor x in loader:\n    scaled.step(x)  # hot\n" + STEP
    )


def test_what_a_container_keeps() -> None:
    check_one(
        "KEPT = {}\nclass Kept:\n    def step(self, x, given):\n"
        "        if x not in self.cache:\n            self.cache[x] = 1\n"
        "        if x in self.cache:\n            y = 1  # hot\n        else:\n            self.cache.setdefault(x, 1)\n"
        "        state = self.state[x]  # hot\n"
        "        if len(state) == 0:\n            state['step'] = 0\n        state['step'] += 1  # hot\n"
        "        if not state:\n            state['mean'] = 0\n"
        "        if 'mean' not in state:\n            state['mean'] = 0\n"
        "        if not hasattr(self, 'table'):\n            self.table = 1\n"
        "        kept = KEPT.get(x)  # hot\n        if kept is None:\n            kept = 1\n            KEPT[x] = kept\n"
        "        table = getattr(self, 'rows', None)  # hot\n        if table is None:\n            self.rows['a'] = 1\n"
        "        if x not in KEPT:\n            y = 1  # hot\n"
        "        if 'all' not in given:\n            given['all'] = 1  # hot\n"
        "        local = {}  # hot\n        if x not in local:\n            local[x] = 1  # hot\n"
        "        if x not in self.buffer:\n            self.buffer[x] = 1  # hot\n        self.buffer.clear()  # hot\n"
        "        if not self.quiet:\n            self.rows[0] = 1  # hot\n"
        "    def built(self):\n        if self.ready:\n            return  # hot\n        self.rows = 1\n        self.ready = True\n"
        "kept = Kept()\nseen = {}\nfor x in loader:\n    kept.step(x, {})  # hot\n    kept.built()  # hot\n"
        "    if x not in seen:\n        seen[x] = 1\n    found = {}  # hot\n    if x not in found:\n        found[x] = 1  # hot\n"
        "    for y in x:\n        if y not in found:\n            found[y] = 1  # hot\n" + STEP
    )


def test_what_a_cache_that_is_given_keeps() -> None:
    check_one(
        "class Net:\n    def step(self, x, size, tables, batch, seen):\n"
        "        if size in tables:\n            y = tables[size]  # hot\n        else:\n            tables[size] = 1\n"
        "        if size not in batch:\n            batch[size] = 1  # hot\n"
        "        if 'mask' not in batch:\n            batch['mask'] = batch['ids']  # hot\n"
        "        y = batch['mask']  # hot\n"
        "        if x not in seen:\n            seen.add(x)  # hot\n"
        "        for m in x:\n            if m not in tables:\n                tables[m] = 1\n            y = tables[m]  # hot\n"
        "net = Net()\nfor x in loader:\n    net.step(x, 3, {}, x, set())  # hot\n" + STEP
    )


def test_what_is_taken_back_behind_the_condition() -> None:
    check_one(
        "class Net:\n    def step(self, x):\n"
        "        if not self.ready:\n            y = 1\n        self.ready = True  # hot\n"
        "        if not self.other:\n            y = 1  # hot\n        if x:\n            self.other = True  # hot\n"
        "        self.late = False  # hot\n        if not self.late:\n            y = 2  # hot\n        self.late = True  # hot\n"
        "        done = False  # hot\n        if not done:\n            y = 3  # hot\n        done = True  # hot\n"
        "net, started, seen = Net(), False, False\nfor x in loader:\n    net.step(x)  # hot\n"
        "    if not started:\n        y = 1\n    started = True  # hot\n"
        "    seen = False  # hot\n    for y in x:\n        if not seen:\n            z = 1  # hot\n        seen = True  # hot\n"
        + STEP
    )


def test_a_flag_of_several_branches() -> None:
    check_one(
        "step = 0\nfor x in loader:\n    step += 1  # hot\n"
        "    if world:\n        due = rank == 0 and step % 100 == 0  # hot\n    else:\n        due = step % 100 == 0  # hot\n"
        "    if due:\n        y = 1\n    else:\n        y = 2  # hot\n"
        "    late = False  # hot\n    if world:\n        late = step % 100 == 0  # hot\n"
        "    if late:\n        y = 3\n"
        "    if world:\n        mixed = step % 100 == 0  # hot\n    else:\n        mixed = x.ready > 0  # hot\n"
        "    if mixed:\n        y = 4  # hot\n"
        "    often = step % 100 == 0  # hot\n    if world:\n        often = True  # hot\n"
        "    if often:\n        y = 5  # hot\n" + STEP
    )


def test_what_is_put_where_it_was_missing_afterwards() -> None:
    check_one(
        "class Net:\n    def step(self, x):\n"
        "        kept = self.get_kept()  # hot\n"
        "        if 'key' not in kept:\n            y = 1\n        else:\n            y = kept['key']  # hot\n"
        "        if 'other' not in kept:\n            y = 2  # hot\n"
        "        if 'late' in kept:\n            y = 3  # hot\n        else:\n            y = 4\n"
        "        if 'both' not in kept:\n            y = 5  # hot\n"
        "        kept.update({'key': y, 'late': x})  # hot\n"
        "        if x:\n            kept['both'] = 1  # hot\n"
        "        made = self.make(x)  # hot\n"
        "        if 'key' not in made:\n            y = 6  # hot\n        made['key'] = y  # hot\n"
        "        own = dict()  # hot\n"
        "        if 'key' not in own:\n            y = 7  # hot\n        own['key'] = y  # hot\n"
        "        if x not in self.rows:\n            y = 8\n        self.rows[x] = y  # hot\n"
        "        self.last['n'] = y  # hot\n        if 'n' not in self.last:\n            y = 9  # hot\n"
        "net = Net()\nfor x in loader:\n    net.step(x)  # hot\n" + STEP
    )


def test_the_highest_so_far() -> None:
    check_one(
        "class Kept:\n    def step(self, n):\n"
        "        if n > self.max_length:\n            self.max_length = int(n.item())\n            x = 1\n"
        "        if self.max_seen < n:\n            self.max_seen = n\n"
        "        if n < self.max_seen:\n            self.max_seen = n  # hot\n"
        "        if n > self.max_other:\n            self.max_other = 3  # hot\n"
        "        if n > self.max_last:\n            x = n  # hot\n"
        "        if n > self.best:\n            self.best = n  # hot\n"
        "        if n != self.last:\n            self.last = n  # hot\n"
        "        length = unknown(n)  # hot\n        if length != self.before:\n            self.before = length\n            x = 1\n"
        "kept = Kept()\nfor x in loader:\n    kept.step(x)  # hot\n" + STEP
    )


def test_a_size_that_is_one_of_several() -> None:
    check_one(
        "class Grid(torch.nn.Module):\n    def fill(self, n):\n        self.n = n\n        x = torch.arange(n)\n"
        "    def forward(self, x):\n"
        "        many, n = count(x), x.size(2)  # hot\n        h, w = x.shape[-2:]  # hot\n"
        "        a, b = x.mean(), x.sum()  # hot\n        c, d = unknown(x)  # hot\n"
        "        if n != self.n:\n            self.fill(n)\n"
        "        if h != self.h:\n            self.h = h\n"
        "        if w != self.w:\n            x = w  # hot\n"
        "        if a != self.a:\n            self.a = a  # hot\n"
        "        if c != self.c:\n            self.c = c  # hot\n"
        "        if many != self.many:\n            self.many = many  # hot\n"
        "grid = Grid()\nfor x in loader:\n    grid(x)  # hot\n" + STEP
    )


def test_a_number_that_stands_for_none_so_far() -> None:
    check_one(
        "class Kept:\n    def step(self, n):\n        z, w = self.kept[0].item(), n.min()  # hot\n        z = self.kept[1].item()  # hot\n"
        "        if z < 0:\n            self.kept[1] = n.mean()\n            z = self.kept[1].item()\n"
        "        if self.mean < 0:\n            self.mean = n.mean()\n"
        "        if self.most == -1:\n            self.most = n.max()\n"
        "        if self.kept[2].item() <= 0:\n            self.kept[2] = n.mean()\n"
        "        if z < 0:\n            self.kept[2] = n.mean()  # hot\n"
        "        if z > 0:\n            self.kept[1] = n.mean()  # hot\n"
        "        if z < 1:\n            self.kept[1] = n.mean()  # hot\n"
        "        if z < 0:\n            self.kept[1] = 0  # hot\n"
        "        if w < 0:\n            self.kept[1] = n  # hot\n"
        "        if n.mean < 0:\n            n.mean = n  # hot\n"
        "        if self.most == 0:\n            self.most = n.max()  # hot\n"
        "kept = Kept()\nfor x in loader:\n    kept.step(x)  # hot\n" + STEP
    )


def test_what_an_element_of_a_container_keeps() -> None:
    check_one(
        "class Kept:\n    def step(self, x, which):\n"
        "        kind = 'train' if self.training else 'eval'  # hot\n"
        "        if 'steps' not in self.losses[kind]:\n            self.losses[kind]['steps'] = 0\n"
        "        if 'n' not in self.losses['all']:\n            self.losses['all']['n'] = 0\n"
        "        if 'n' not in self.losses['all']:\n            self.losses['other']['n'] = 0  # hot\n"
        "        if 'n' not in self.losses[x]:\n            self.losses[x]['n'] = 0  # hot\n"
        "        if 'n' not in which['all']:\n            which['all']['n'] = 0  # hot\n"
        "        last = 'a'  # hot\n        last = x  # hot\n"
        "        if 'n' not in self.losses[last]:\n            self.losses[last]['n'] = 0  # hot\n"
        "kept = Kept()\nfor x in loader:\n    kept.step(x, {})  # hot\n" + STEP
    )


def test_what_has_to_hold_is_no_throttle() -> None:
    check_one(
        "def split(x: torch.Tensor, heads):\n    if len(x) % heads != 0:\n        raise ValueError(heads)\n    y = x  # hot\n"
        "    if i % heads == 0:\n        y = 1  # hot\n    else:\n        raise ValueError\n"
        "    n = x.size(0)  # hot\n    if x.shape[1] % heads == 0 and n % heads == 0:\n        y = 1  # hot\n"
        "    if x.shape[1] % heads:\n        y = 1  # hot\n    if n % heads:\n        return y  # hot\n"
        "    if len(x) % heads != 0:\n        return x  # hot\n    return y  # hot\n"
        "for i, batch in enumerate(loader):\n    split(batch, 16)  # hot\n" + STEP
    )


def test_what_runs_outside_of_training_alone() -> None:
    check_one(
        "class Net:\n    def forward(self, x, return_loss=True):\n"
        "        if self.training:\n            x = 1  # hot\n        else:\n            self.decode(x)\n"
        "        if not self.training and x:\n            y = 1\n"
        "        if self.training or x:\n            y = 2  # hot\n        else:\n            y = 3\n"
        "        if not self.training or x:\n            y = 4  # hot\n"
        "        if return_loss:\n            return x  # hot\n        return self.decode(x)\n"
        "    def decode(self, x):\n        return x\n"
        "for x in loader:\n    Net.forward(x)  # hot\n" + STEP
    )


def test_what_few_calls_give() -> None:
    check_one(
        "class Loss:\n    def forward(self, x, **rest):\n        shown = rest.get('shown', None)  # hot\n"
        "        if shown is not None:\n            draw(shown)\n            shown = shown[0]\n"
        "        scale = rest.pop('scale', 1)  # hot\n        if scale is not None:\n            x = x * scale  # hot\n"
        "        if rest.get('debug'):\n            draw(x)\n        if rest.get('fast', True):\n            y = 1  # hot\n"
        "        if x is not None:\n            y = 2  # hot\n        if not rest.get('quiet'):\n            y = 3  # hot\n"
        "        if shown is None:\n            y = 4  # hot\n        mask = rest['mask']  # hot\n"
        "        if mask is not None:\n            y = 5  # hot\n        return x  # hot\n"
        "for x in loader:\n    Loss.forward(x)  # hot\n" + STEP
    )


def test_a_function_that_tells_every_how_many() -> None:
    check_one(
        "def divisible_by(a, b):\n    return (a % b) == 0  # hot\ndef odd(a, b):\n    return (a % b) != 0  # hot\n"
        "def part(a):\n    return a % 8 == 0  # hot\n"
        "for i, x in enumerate(loader):\n    if divisible_by(i, 100):\n        y = 1\n"
        "    if i != 0 and divisible_by(i, every):\n        y = 2\n    if divisible_by(i, 2):\n        y = 3  # hot\n"
        "    if not divisible_by(i, 100):\n        y = 4  # hot\n    if odd(i, 100):\n        y = 5  # hot\n"
        "    if part(i):\n        y = 6  # hot\n" + STEP
    )


def test_a_condition_that_a_function_gives_at_the_end_of_others() -> None:
    check_one(
        "def is_time(seen, every, done, size):\n    if seen == 1:\n        return False  # hot\n"
        "    elif done:\n        return True\n    else:\n        return seen % every < size  # hot\n"
        "def is_any(seen, every, size):\n    if size:\n        return seen > size  # hot\n    return seen % every > 0  # hot\n"
        "def is_either(seen, every, size):\n    if size:\n        return seen > size  # hot\n    else:\n        return seen % every == 0  # hot\n"
        "for i, x in enumerate(loader):\n    if is_time(i, 100, False, 8):\n        y = 1\n"
        "    if is_time(i, every, done, size):\n        y = 2\n    if is_time(i, 2, done, size):\n        y = 3  # hot\n"
        "    if not is_time(i, every, done, size):\n        y = 4  # hot\n    if is_any(i, every, size):\n        y = 5  # hot\n"
        "    if is_either(i, every, size):\n        y = 6  # hot\n"
        "    loss.backward()  # hot\n    optimizer.step()  # hot\n"
    )


def test_a_function_that_tells_every_how_many_and_more() -> None:
    check_one(
        "def due(step, every, last):\n    return every > 0 and (last < 0 or step % every == 0)  # hot\n"
        "def first(step, every, last):\n    return last is None or step % every == 0  # hot\n"
        "def any_of(step, every, full):\n    return full or step % every == 0  # hot\n"
        "def never_before(last):\n    return last < 0 or last is None  # hot\n"
        "for i, x in enumerate(loader):\n    is_due = due(i, int(cfg.often), last)  # hot\n    if is_due:\n        y = 1\n"
        "    if first(i, 50, last):\n        y = 2\n    if due(i, 2, last):\n        y = 3  # hot\n"
        "    if any_of(i, 50, full):\n        y = 4  # hot\n    if never_before(last):\n        y = 5  # hot\n"
        "    if not due(i, 50, last):\n        y = 6  # hot\n" + STEP
    )


def test_calls_behind_a_throttle() -> None:
    check_one(
        "def log(x):\n    print(x)\ndef both(x):\n    print(x)  # hot\n"
        "for i, batch in enumerate(loader):\n    if i % 100 == 0:\n        log(batch)\n        both(batch)\n    both(batch)  # hot\n"
        + STEP
    )


@pytest.mark.parametrize(
    ("first", "other", "hot"),
    [
        ("show(x)", "if i % 100 == 0:\n            show(x)", False),
        ("while moving:\n            show(x)", "n = 50\n        if i % n == 0:\n            show(x)", False),
        ("show(x)", "if i % 100 == 0:\n            log(x)", True),
        ("show(x)", "if wide:\n            show(x)", True),
        ("show(x)", "show(x)", True),
        ("show(x)", "show(x)\n        if i % 100 == 0:\n            show(x)", True),
        ("show(x)", "z = x", True),
    ],
)
def test_a_call_that_the_other_branch_throttles(first: str, other: str, hot: bool) -> None:
    """What is shown while a camera moves, and once in 100 steps elsewhere, is not shown on each step; the call itself stands there."""
    code = (
        "def log(x):\n    print(x)\ndef show(x):\n    y = x\n"
        "for i, x in enumerate(loader):\n    moving = asked()\n"
        f"    if moving:\n        {first}\n    else:\n        {other}\n{STEP}"
    )
    assert hot is (("train.py", 4, "hot") in set(told({"train.py": code})))


@pytest.mark.parametrize(
    ("sets", "asks", "hot"),
    [
        ("self.moving = asked()", "self.moving", False),
        ("self.moving = asked()", "self.moving and self.shown", False),
        ("moving = asked()", "self.moving", True),
        ("moving = asked()", "on_tpu", True),
    ],
)
def test_a_call_that_the_other_branch_throttles_for_the_whole_run(sets: str, asks: str, hot: bool) -> None:
    """What depends on what a program runs on is done on each step in one branch, and now and then in the other."""
    code = (
        "class View:\n    def __init__(self, on_tpu):\n        self.moving = on_tpu\n    def show(self, x):\n        y = x\n"
        f"    def look(self):\n        {sets}\n    def update(self, i, x, on_tpu):\n"
        f"        if {asks}:\n            self.show(x)\n        elif i % 100 == 0:\n            self.show(x)\n"
        f"view = View(wide)\nfor i, x in enumerate(loader):\n    view.update(i, x, wide)\n{STEP}"
    )
    assert hot is (("train.py", 5, "hot") in set(told({"train.py": code})))


GRID = """\
import torch
class Grid:
    def __init__(self, n=None, fast=True):
        self.n = n
        self.fast = fast
    def resize(self, n):
        self.n = n
    def again(self):
        self.update()
    def update(self):
        if self.n is not None:
            self.fill()
        if not self.fast:
            self.wait()
    def fill(self):
        y = 1
    def wait(self):
        y = 2
"""


@pytest.mark.parametrize(
    ("made", "run", "filled", "waits"),
    [
        ("grid = Grid()", "grid.update()", False, False),
        ("grid = Grid(n=None, fast=False)", "grid.update()", False, True),
        ("grid = Grid(4)", "grid.update()", True, False),
        ("grid = Grid(size, fast)", "grid.update()", True, True),
        ("grid = Grid(**options)", "grid.update()", True, True),
        # Where one of its methods changes what it keeps, or who made it does.
        ("grid = Grid()\ngrid.resize(4)", "grid.update()", True, False),
        ("grid = Grid()\ngrid.n = 4", "grid.update()", True, False),
        ("grid, other = Grid(), Grid(4)\nother.resize(8)", "grid.update()", False, False),
        ("grid = Grid()", "grid.update()\n    Grid(4).update()", True, False),
        ("def show(one):\n    one.update()\ngrid = Grid()", "show(grid)", False, False),
        ("def show(one):\n    one.update()\ngrid, other = Grid(), Grid(4)", "show(grid)\n    show(other)", True, False),
        ("def show(one):\n    one.update()\ngrid = Grid()", "show(grid)\n    show(given)", True, False),
        (
            "class Fine(Grid):\n    def more(self):\n        self.n = 8\ngrid = Fine()\ngrid.more()",
            "grid.update()",
            True,
            False,
        ),
        ("class Fine(Grid):\n    def more(self):\n        self.n = 8\ngrid = Fine()", "grid.update()", False, False),
    ],
)
def test_what_an_object_keeps_of_the_call_that_made_it(made: str, run: str, filled: bool, waits: bool) -> None:
    code = f"{GRID}{made}\nfor x in loader:\n    {run}\n{STEP}"
    hot = {line for _, line, _ in told({"train.py": code})}
    assert (filled, waits) == (16 in hot, 18 in hot)


def test_what_an_object_keeps_goes_with_its_own_calls() -> None:
    again = GRID.replace(
        "    def again(self):\n", "    def again(self):\n        if self.n is None:\n            z = 1\n"
    )
    code = f"{again}grid = Grid()\nfor x in loader:\n    grid.again()\n{STEP}"
    hot = {line for _, line, _ in told({"train.py": code})}
    assert (True, False) == (10 in hot, 18 in hot)


def test_throttle_in_the_function_itself() -> None:
    check_one(
        "def log(i, x):\n    if i % 100 != 0:\n        return  # hot\n    print(x)\ndef check(x):\n    if x is None:\n        return x  # hot\n    y = 1  # hot\n"
        "for i, batch in enumerate(loader):\n    log(i, batch)  # hot\n    check(batch)  # hot\n" + STEP
    )


@pytest.mark.parametrize(
    ("steps", "place", "mark"),
    [
        ("phase == 'train'", "phase != 'train'", "warm"),
        ("phase == 'train'", "phase == 'val'", "warm"),
        ("train", "not train", "warm"),
        ("train and x is not None", "not train and wide", "warm"),
        ("phase == 'train'", "phase == 'train'", "hot"),
        ("phase == 'train'", "phase != 'val'", "hot"),
        ("train", "train", "hot"),
        ("train", "wide", "hot"),
        ("train", "not (train and wide)", "hot"),
        # What changes in the loop says nothing of the others of its iterations.
        ("full", "not full", "hot"),
        ("len(x) == 4", "len(x) == 3", "hot"),
    ],
)
def test_what_a_loop_that_trains_does_where_it_does_not(steps: str, place: str, mark: str) -> None:
    check_one(
        "def run(phase, train, wide):\n    for x in loader:\n        full = len(x) == 8  # hot\n"
        f"        if {steps}:\n{indented(STEP, 2)}        if {place}:\n            y = x  # {mark}\n"
    )


@pytest.mark.parametrize(
    ("steps", "place", "mark"),
    [
        ("phase == 'train'", "phase == 'train'", "hot"),
        ("phase == 'train'", "phase != 'val'", "hot"),
        ("phase == 'train'", "wide", "hot"),
        ("wide", "phase == 'val'", "hot"),
        ("phase == 'train'", "phase == 'val'", "warm"),
        ("phase == 'train'", "phase != 'train'", "warm"),
        ("train", "not train", "warm"),
    ],
)
def test_what_a_loop_does_where_it_does_not_call_what_trains(steps: str, place: str, mark: str) -> None:
    check_one(
        "def learn(x):\n    loss = model(x)  # hot\n    loss.backward()  # hot\n    optimizer.step()  # hot\n"
        "def run(phase, train, wide):\n    for x in loader:\n        full = len(x) == 8  # hot\n"
        f"        if {steps}:\n            learn(x)  # hot\n        if {place}:\n            y = x  # {mark}\n"
    )


def test_a_flag_says_what_it_is_made_of() -> None:
    check_one(
        "def run(phase, wide):\n    train = phase == 'train'\n    for x in loader:\n"
        f"        if train:\n{indented(STEP, 2)}        if phase == 'val':\n            y = x  # warm\n"
        "        if phase == 'val' and wide:\n            y = x  # warm\n"
        "        if wide:\n            y = x  # hot\n"
    )
    # Another word may have been given at first.
    check_one(
        "def run(phase, wide):\n    train = phase == 'train'\n    phase = wide\n    for x in loader:\n"
        f"        if train:\n{indented(STEP, 2)}        if phase == 'val':\n            y = x  # hot\n"
    )


def test_what_a_loop_does_where_another_call_trains() -> None:
    """Each of two calls trains behind a condition of its own: neither tells when the loop does not."""
    learns = "    loss = model(x)  # hot\n    loss.backward()  # hot\n    optimizer.step()  # hot\n"
    check_one(
        f"def learn(x):\n{learns}def pretrain(x):\n{learns}"
        "def run(phase):\n    for x in loader:\n        if phase == 'train':\n            learn(x)  # hot\n"
        "        if phase == 'before':\n            pretrain(x)  # hot\n            y = x  # hot\n"
    )


def test_the_other_branch_of_the_steps() -> None:
    check_one(
        "def run(train):\n    for x in loader:\n"
        f"        if train:\n{indented(STEP, 2)}        else:\n            y = x  # warm\n            helper(x)  # warm\n"
        "def helper(x):\n    z = x\n    return z\n"
    )
    # Where each branch takes steps of its own, none of them evaluates.
    check_one(
        f"def run(train):\n    for x in loader:\n        if train:\n{indented(STEP, 2)}        else:\n{indented(STEP, 2)}"
    )


def test_the_other_branch_of_the_steps_of_a_function() -> None:
    step = "        loss.backward()  # hot\n        optimizer.step()  # hot\n"
    # Where nothing requires gradients, nothing is trained.
    check_one(
        "def run(x):\n    out = model(x)  # hot\n    if out.requires_grad:\n        loss = out.mean()  # hot\n"
        f"{step}    else:\n        y = out.cpu()\n    return out  # hot\n"
        "for x in loader:\n    run(x)  # hot\n"
    )
    check_one(
        f"for x in loader:\n    out = model(x)  # hot\n    if out.requires_grad:\n{indented(STEP)}    else:\n        y = out.cpu()  # warm\n"
        "    if not other.requires_grad:\n        z = out.cpu()  # hot\n"
    )
    # What a maker of functions is told: the step that it makes for training, and the one for evaluation.
    check_one(
        "def make(train):\n    def run(x):\n        loss = model(x)  # hot\n        if train:\n"
        f"{indented(step)}        else:\n            y = x\n        return loss  # hot\n    return run\n"
        "step = make(True)\nfor x in loader:\n    step(x)  # hot\n"
    )
    # Gradients that are gathered over several batches are of every one; a local name may be another one on each call.
    check_one(
        "def run(x, last, n):\n    loss = model(x)  # hot\n    loss.backward()  # hot\n    full = len(x) == n  # hot\n"
        "    if last:\n        optimizer.step()  # hot\n    else:\n        y = x  # hot\n"
        "for x in loader:\n    run(x, last, 3)  # hot\n"
    )
    check_one(
        f"def run(x, n):\n    full = len(x) == n  # hot\n    if full:\n{step}    else:\n        y = x  # hot\n"
        "for x in loader:\n    run(x, 3)  # hot\n"
    )


def test_what_a_call_on_a_step_asks_for() -> None:
    method = (
        "    def run(self, x, mode='train', full=False):\n        if mode == 'val':\n            y = self.predict(x)\n"
        "            return y\n        if full:\n            y = x{full}\n        if mode == 'train':\n            y = x  # hot\n"
        "        return y  # hot\n    def predict(self, x):\n        return x\n"
    )
    loops = (
        "    def fit(self):\n        for x in loader:\n            loss = self.run(x{more})  # hot\n"
        f"{indented(STEP, 2)}        return 1\n    def check(self):\n        self.run(x, 'val')\n        self.run(x, 'val', full=True)\n"
    )
    for more, full in (
        ("", ""),
        (", 'train'", ""),
        (", mode='train', full=True", "  # hot"),
        (", full=self.full", "  # hot"),
    ):
        check_one(f"class Trainer:\n{method.format(full=full)}{loops.format(more=more)}")


def test_what_no_call_on_a_step_gives() -> None:
    net = (
        "class Net(nn.Module):\n    def forward(self, x, box=None, flat=False):\n        if box is not None and box.any():\n"
        "            y = x{box}\n        if box is None:\n            y = x  # hot\n        if box:\n            y = x{box}\n"
        "        if not box:\n            y = x  # hot\n        return self.last(x, box)  # hot\n"
        "    def last(self, x, box):\n        if box is not None:\n            y = x{box}\n        return x  # hot\n"
    )
    loop = f"def fit(net: Net):\n    for x in loader:\n        loss = net({{given}})  # hot\n{indented(STEP)}"
    other = "def infer(net: Net, x, box):\n    return net(x, box)\n"
    check_one(net.format(box="") + loop.format(given="x") + other)
    check_one(net.format(box="") + loop.format(given="x, box=None") + other)
    for given in ("x, x", "*x", "**x", "x, box=box"):
        check_one(net.format(box="  # hot") + loop.format(given=given))
    # What one of two calls gives, and what the function sets itself, may be there.
    check_one(
        net.format(box="  # hot")
        + f"def fit(net: Net):\n    for x in loader:\n        net(x, x)  # hot\n        net(x)  # hot\n{indented(STEP)}"
    )
    check_one(
        "def run(x, box=None):\n    if box is None:\n        box = x  # hot\n    if box is not None:\n        y = x  # hot\n"
        f"for x in loader:\n    run(x)  # hot\n{STEP}"
    )


def test_what_a_call_on_a_step_hands_on() -> None:
    net = (
        "class Block(nn.Module):\n    def forward(self, x, at=None, cache=None):\n        return self.attn(x, {handed})  # hot\n"
        "class Attn(nn.Module):\n    def forward(self, x, at=None, cache=None):\n        if cache is not None:\n"
        "            key = cache[0]{cache}\n            cache = x, key{cache}\n        return x, cache  # hot\n"
        "class Net(nn.Module):\n    def __init__(self):\n        self.block = Block()\n"
        "    def forward(self, x, at=None):\n        if at is None:\n            x = self.block(x)  # hot\n"
        "        else:\n            x = self.block(x, at, self.cache){at}\n        return x  # hot\n"
    ).replace(
        "class Block(nn.Module):\n", "class Block(nn.Module):\n    def __init__(self):\n        self.attn = Attn()\n"
    )
    loop = f"def fit(net: Net):\n    for x in loader:\n        loss = net({{given}})  # hot\n{indented(STEP)}"
    infer = "def infer(net: Net, x):\n    return net(x, 3)\n"
    check_one(net.format(handed="at, cache", cache="", at="") + loop.format(given="x") + infer)
    check_one(net.format(handed="at, cache=cache", cache="", at="") + loop.format(given="x, None"))
    for handed in ("at, x", "at, *cache", "at, cache or x"):
        check_one(net.format(handed=handed, cache="  # hot", at="") + loop.format(given="x"))
    check_one(net.format(handed="at, cache", cache="  # hot", at="  # hot") + loop.format(given="x, x"))


def test_what_is_handed_on_after_it_was_set_anew() -> None:
    last = "def last(x, box=None):\n    if box is not None:\n        y = x{box}\n    return x  # hot\n"
    first = "def first(x, box=None):\n{before}    last(x, box)  # hot\n{after}"
    loop = f"for x in loader:\n    first(x)  # hot\n{STEP}"
    check_one(last.format(box="") + first.format(before="", after="    box = x  # hot\n") + loop)
    hot = last.format(box="  # hot")
    check_one(hot + first.format(before="    box = x  # hot\n", after="") + loop)
    check_one(
        hot + "def first(x, box=None):\n    for y in x:\n        last(y, box)  # hot\n        box = y  # hot\n" + loop
    )


def test_what_not_all_calls_on_steps_ask_for() -> None:
    twice = "for x in loader:\n    run(x, 'a')  # hot\n    run(x, {other})  # hot\n" + STEP
    run = "def run(x, mode='a'):\n    if mode == 'b':\n        y = x{b}\n    if mode == 'c':\n        y = x{c}\n"
    check_one(run.format(b="  # hot", c="") + twice.format(other="'b'"))
    check_one(run.format(b="  # hot", c="  # hot") + twice.format(other="kind"))
    check_one(run.format(b="", c="") + twice.format(other="'a'"))
    # A parameter that the function sets again says nothing.
    check_one(
        f"def run(x, mode='a'):\n    mode = kind(mode)  # hot\n    if mode == 'b':\n        y = x  # hot\nfor x in loader:\n    run(x)  # hot\n{STEP}"
    )


def test_weak_throttles() -> None:
    check_one(
        "def clip():\n    x = 1  # weak\ndef both():\n    x = 1  # hot\n"
        "for batch in loader:\n    accelerator.backward(loss)  # hot\n    if accelerator.sync_gradients:\n        clip()  # weak\n        both()  # weak\n"
        "        if global_step % 50 == 0:\n            log()\n    both()  # hot\n    optimizer.step()  # hot\n"
    )


def test_a_nested_loop_keeps_its_throttle() -> None:
    check_one(
        "for i, batch in enumerate(loader):\n    if i % 100 == 0:\n        for p in ps:\n            log(p)\n" + STEP
    )


def test_a_throttle_of_the_step_itself() -> None:
    check_one(
        "def update(x):\n    x.sum()  # hot\n"
        "for step in range(n):\n    obs = envs.step(action)  # hot\n    if step > learning_starts:\n"
        "        if step % 10 == 0:\n            update(obs)  # hot\n            loss.backward()  # hot\n            optimizer.step()  # hot\n"
        "            if step % 100 == 0:\n                log(loss)\n        if step % 10 == 0:\n            sync()  # hot\n"
    )


def test_a_throttle_of_one_step_of_two() -> None:
    check_one("for step in range(n):\n    if step % 10 == 0:\n        actor_loss.backward()\n        update()\n" + STEP)


def test_steps_after_a_throttle() -> None:
    check_one(
        "for step in range(n):\n    collect()  # hot\n    if step % 10 != 0:\n        continue\n    update()  # hot\n"
        + STEP
    )


# Loops that run a model


@pytest.mark.parametrize(
    "code",
    [
        "for x in y:\n    f(x)",
        "for x in y:\n    encoder(x)",
        "for x in y:\n    tokenizer.decoder(x)",
        "for x in y:\n    f(lambda: model(x))",
        "for epoch in range(3):\n    for x in y:\n        loss.backward()  # hot\n        model(x)  # hot\n    f()",
        "for layer in layers:\n    x = layer(x)",
        "def build(net: nn.Module):\n    return 1\nfor x in y:\n    build(nn.Linear(1, 1))",
        # Methods of a module that run none.
        (
            "class Layer(nn.Module):\n    def weight(self, name):\n        return self.a[name] @ self.b[name]\n"
            "    def merge(self, names):\n        for name in names:\n            self.base.data += self.weight(name)"
        ),
    ],
)
def test_loops_that_run_no_model(code: str) -> None:
    check_one(code)


def test_evaluation() -> None:
    check_one(
        "model = nn.Linear(3, 3)\nfor epoch in range(3):\n    start()\n    for batch in loader:\n        out = model(batch)  # warm\n"
        "        total += out.sum().item()  # warm\n        if i % 100 == 0:\n            print(total)\n    print(total)\n"
    )


def test_evaluation_by_what_is_outside_of_the_loop() -> None:
    """A module without layers is no new model, whatever is made of others."""
    classes = (
        "class Mask(nn.Module):\n    def __init__(self, radius):\n        super().__init__()\n        self.radius, self.seen = radius, {}\n"
        "class Head(nn.Module):\n    def __init__(self, width):\n        super().__init__()\n        self.layers = make(width)\n"
    )
    code = (
        "model = nn.Linear(3, 3)\nfor batch in loader:\n    near = {}(3)  # warm\n    y = near(model(batch))  # warm\n"
    )
    check_one(classes + code.format("Mask"))
    check_one(classes + code.format("Head").replace("  # warm", ""))


def test_generation() -> None:
    check_one(
        "def generate(model):\n    while len(tokens) < 100:\n        logits = model(tokens)  # warm\n        tokens.append(1)  # warm\n    return tokens\n"
    )


def test_model_by_its_name_only() -> None:
    check_one("for batch in batches:\n    self.model(batch)  # warm\n    self.unet(batch)  # warm\n")


def test_parts_of_a_model_by_their_names_only() -> None:
    check_one("for x in batches:\n    h = self.model.feature_extractor(x)  # warm\n    idx = f(h)  # warm\n")
    check_one("for x in batches:\n    self.model.load(x)\n    model.tokens.append(x)\n    names.encoder(x)\n")
    check_one("for x in batches:\n    h = model.get_decoder()\n    tokenizer.decoder(x)\n")


def test_generation_by_a_method() -> None:
    check_one(
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.head = nn.Linear(1, 1)\n"
        "    def decode(self, x):\n        return self.project(x)\n    def project(self, x):\n        return self.head(x)\n"
        "def generate(net: Net):\n    for i in range(100):\n        token = net.decode(tokens)  # warm\n"
    )


def test_model_handed_on() -> None:
    check_one(
        "def next_token(model, tokens):\n    return model(tokens)\n"
        "def generate(model: nn.Module):\n    for i in range(100):\n        token = next_token(model, tokens)  # warm\n"
        "def fit(model):\n    for batch in loader:\n        loss.backward()  # hot\n"
        "def search(model: nn.Module):\n    for rate in rates:\n        fit(model)\n        next_token(model, tokens)\n"
    )
    check_one(
        "def next_token(tokens, *, model):\n    return model(tokens)\n"
        "def generate(net: nn.Module):\n    for i in range(100):\n        token = next_token(tokens, model=net)  # warm\n"
    )


def test_model_handed_on_by_what_it_is_handed_to() -> None:
    check_one(
        "def batch_loss(model, x, fused=False):\n    if fused:\n        return inner(model, x)\n    return inner(model, x)\n"
        "def inner(net, x):\n    if x is None:\n        return None\n    return net(x)\n"
        "def validate(model: nn.Module, loader):\n    for x in loader:\n        loss = batch_loss(model, x)  # warm\n"
        # Only named, run in a loop of its own, and another thing that is called.
        "def describe(model, x):\n    return show(model, x)\n"
        "def show(net, x):\n    return len(net)\n"
        "def tell(model: nn.Module, loader):\n    for x in loader:\n        describe(model, x)\n"
        "def many(model, xs):\n    return each(model, xs)\n"
        "def each(model, xs):\n    for x in xs:\n        model(x)  # warm\n"
        "def by_file(model: nn.Module, files):\n    for file in files:\n        many(model, file)\n"
        "def generate(model, x):\n    y = inner(model, x)\n    for i in range(9):\n        y = inner(model, y)  # warm\n    return y\n"
        "def by_sample(model: nn.Module, samples):\n    for x in samples:\n        generate(model, x)\n"
        "def accept(model, x):\n    y = inner(model, x)\n    return y[y > 0]\n"
        "def by_draft(model: nn.Module, drafts):\n    for x in drafts:\n        accept(model, x)\n"
        "def call(model, collate):\n    return inner(collate, model)\n"
        "def sort(model: nn.Module, keys):\n    for key in keys:\n        call(key, model)\n"
    )


def test_an_object_that_a_loop_of_evaluation_calls() -> None:
    code = (
        "import torch\nfrom torch import nn\n"
        "class Score:\n    def __call__(self, y):\n        self.total += y.sum().item(){}\n"
        "class Other:\n    def __call__(self, y):\n        self.total += y.sum().item()\n"
        "def validate(model: nn.Module, loader):\n    score, other = Score(), Other()\n    other(1)\n    score = Score()\n"
        "    for x in loader:\n        y = model(x)\n        {}(y)\n"
    )
    for called, runs in (("score", True), ("print", False)):
        steps = steps_of({"train.py": code.format("", called)})
        module = steps.project.module("train.py")
        assert module is not None
        loops = WarmLoops(steps)
        found = {
            one.cls.name: loops.warm_caller(one, one.flow.nodes[0]) is not None
            for one in module.functions
            if one.cls is not None and one.name == "__call__"
        }

        assert {"Score": runs, "Other": False} == found


def test_a_library_that_runs_the_model() -> None:
    check_one(
        "from monai.inferers import sliding_window_inference\n"
        "def validate(model, loader):\n    for x in loader:\n        y = sliding_window_inference(x, (96, 96, 96), 1, model)  # warm\n"
        "        print(y)  # warm\n"
        "    for x in loader:\n        y = sliding_window_inference(x, (96, 96, 96), 1, find)\n"
        "    for x in loader:\n        y = describe_inference(model)\n"
        "    for x in loader:\n        y = make_inferences(x, model)\n"
    )


def test_an_abstract_method_that_subclasses_fill() -> None:
    base = (
        "import torch\nclass Base:\n    def __init__(self, net):\n        self.net = torch.nn.Linear(2, 2)\n"
        "    def score(self, x):\n        raise NotImplementedError\n    def name(self, x):\n        raise NotImplementedError\n"
        "    def loop(self):\n        for x in data:\n            self.name(x)\n"
        "    def validate(self):\n        for x in data:\n            self.score(x)  # warm\n"
    )
    heir = "from base import Base\nclass Heir(Base):\n    def name(self, x):\n        return 'a'\n    def score(self, x):\n        return self.net(x)\n"
    check({"base.py": base, "heir.py": heir})


@pytest.mark.parametrize(("many", "mark"), [(60, "  # hot"), (120, "")])
def test_a_method_that_many_subclasses_fill(many: int, mark: str) -> None:
    """A call of what sixty classes have runs any of them; of what more than a hundred have it says nothing."""
    base = "import torch\nclass Base:\n    def losses(self, x):\n        raise NotImplementedError\n"
    train = (
        "from base import Base\ndef train(part: Base, loader):\n    for x in loader:\n        loss = part.losses(x)  # hot\n"
        "        loss.backward()  # hot\n        optimizer.step()  # hot\n"
    )
    heirs = (
        f"class Heir{at}(Base):\n    def losses(self, x):\n        return self.net(x){mark}\n" for at in range(many)
    )
    check({"base.py": base, "heirs.py": "from base import Base\n" + "".join(heirs), "train.py": train})


def test_a_loop_that_repeats_what_is_random_evaluates_nothing() -> None:
    check_one(
        "TRIALS = 8\nMANY = 1000\nfew = 3\nfew = 4\n"
        "def mean(model, x, count):\n    outs = []\n"
        "    for _ in range(TRIALS):\n        outs.append(model(x))\n"
        "    for _ in range(4):\n        outs.append(model(x))\n"
        "    for i in range(TRIALS):\n        outs.append(model(x))  # warm\n"
        "    for _ in range(MANY):\n        outs.append(model(x))  # warm\n"
        "    for _ in range(few):\n        outs.append(model(x))  # warm\n"
        "    for _ in range(count):\n        outs.append(model(x))  # warm\n"
        "    return outs\n"
    )


def test_a_loop_whose_first_iteration_alone_steps_is_none_of_steps() -> None:
    check_one(
        "def prepare(x):\n    loss.backward()  # hot\n    optimizer.step()  # hot\n"
        "def show(x):\n    print(x)\n"
        "def test():\n    for i, x in enumerate(loader):\n        if i == 0:\n            prepare(x)\n        show(x)\n"
        "def test_more():\n    for i in range(4):\n        if args.new and i == 0:\n            prepare(i)\n        show(i)\n"
        "def train():\n    for i, x in enumerate(loader):\n        if i == 1:\n            print(i)\n        prepare(x)  # hot\n"
    )


def test_a_loop_that_trains_is_not_warm() -> None:
    steps = steps_of({"train.py": "for batch in loader:\n    model(batch)\n    loss.backward()\n"})
    module = steps.project.module("train.py")
    assert module is not None
    (function,) = module.functions
    (loop,) = steps.loops_of(function)

    assert not WarmLoops(steps).is_warm(function, loop)


_GUIDED = (
    "def generate(model: nn.Module, args, n=3, many=100):\n    for i in range(args.length):\n        logits = model(tokens)  # warm\n"
    "        past = guide({given})  # warm\n    return tokens\n"
    "def guide(model, past, turns{default}):\n    for turn in {turns}:\n        loss = model(past).sum()  # hot\n"
    "        loss.backward()  # hot\n        {last}  # hot\n    return past\n"
)
"""A loop that runs a model, and for each token one that moves what the model is given along its gradient."""


def guided(
    given: str = "model, past", default: str = "=3", turns: str = "range(turns)", last: str = "past = past - past.grad"
) -> str:
    return _GUIDED.format(given=given, default=default, turns=turns, last=last)


@pytest.mark.parametrize(
    "code",
    [
        guided("model, past, 3", ""),
        guided("model, past, turns=n", "=100"),
        guided(turns="range(3)"),
        guided(turns="trange(3)"),
        guided(turns="tqdm(range(TURNS))") + "TURNS = 5\n",
        guided(turns="range(args.turns)") + "parser.add_argument('--turns', type=int, default=3)\n",
        guided("model, past, args.turns", "") + "parser.add_argument('--turns', type=int, default=3)\n",
        guided().replace("guide(model, past)", "1").replace("def guide", "def other"),
    ],
)
def test_a_loop_that_takes_a_few_gradients_of_what_a_model_is_given_generates(code: str) -> None:
    check_one(code)


def test_a_loop_around_a_few_gradients_of_what_a_model_is_given_evaluates() -> None:
    loop = (
        "def evaluate(model: nn.Module, loader):\n    for x in loader:\n        x = x.cuda()  # warm\n        for turn in range({turns}):\n"
        "            loss = model(x).sum()  # hot\n            loss.backward()  # hot\n            x = x + x.grad.sign()  # hot\n"
        "        out = model(x)  # warm\n"
    )
    check_one(loop.format(turns=5))
    check_one(loop.format(turns=50).replace("  # warm", ""))


@pytest.mark.parametrize(
    "code",
    [
        guided("model, past, 100"),
        guided("model, past, turns=many"),
        guided("model, past, count()"),
        guided(default=""),
        guided(default="=100"),
        guided(default="=None"),
        guided(turns="range(args.turns)") + "parser.add_argument('--turns', type=int, default=100)\n",
        guided(turns="range(args.turns)"),
        guided(turns="range(len(past))"),
        guided(turns="range(3, turns)"),
        guided(turns="past"),
        guided().replace("return past", "turns = 3\n    return past"),
    ],
)
def test_a_loop_that_takes_many_gradients_for_each_iteration_is_not_warm(code: str) -> None:
    check_one(code.replace("  # warm", ""))


@pytest.mark.parametrize(
    "last",
    [
        "optimizer.step(past.grad)",
        "optimizer.step()",
        "print(loss)",
        "past.grad = None",
        "for p in model.parameters(): p -= p.grad",
        "step_by_hand([p.grad for p in model.parameters()])",
    ],
)
def test_a_loop_of_a_few_turns_that_may_train_is_one_of_steps(last: str) -> None:
    check_one(guided(last=last).replace("  # warm", ""))


def test_the_loop_is_told() -> None:
    steps = steps_of({"train.py": "def f():\n    x = 1\n\nfor batch in loader:\n    f()\n    loss.backward()\n"})
    module = steps.project.module("train.py")
    assert module is not None
    hot = steps.hot(module.functions[1], module.functions[1].flow.nodes[0])
    assert hot is not None

    assert (4, "<module>", 1) == (hot.line, hot.function.name, hot.depth)


def test_a_method_of_a_framework_is_told() -> None:
    steps = steps_of({"train.py": "class A(L):\n    def training_step(self):\n        x = 1\n"})
    module = steps.project.module("train.py")
    assert module is not None
    hot = steps.hot(module.functions[1], module.functions[1].flow.nodes[0])
    assert hot is not None

    assert (2, None, 0) == (hot.line, hot.loop, hot.depth)


def test_files_that_do_not_parse_are_passed_over() -> None:
    assert {} == steps_of({"a.py": "loss.backward(", "b.py": "\x00loss.backward()"}).index.loops


def test_properties_run_where_they_are_read() -> None:
    check_one(
        "class A:\n    @property\n    def heat(self):\n        return self.a.exp().item()  # hot\n"
        "    @property\n    def best(self):\n        return self.a.max().item()\n    def plain(self):\n        return 1\n"
        "    def train(self):\n        for x in loader:\n            loss = self.heat * x  # hot\n"
        "            f(self.plain, other.best)  # hot\n            loss.backward()  # hot\n            optimizer.step()  # hot\n"
        "        return self.best\n"
    )


def whole(text: str) -> list[str]:
    """The functions of a file that are shown whole for its evaluation and generation loops."""
    steps = steps_of({"train.py": f"# model.eval()\n{text}"})
    return [function.name for function in WarmLoops(steps).warm_in("train.py")]


def test_what_a_generation_loop_calls_is_shown_whole() -> None:
    text = (
        "class Filter:\n    def apply(self, x):\n        raise NotImplementedError\n"
        "class First(Filter):\n    def apply(self, x):\n        self.rows(x)\n"
        "    def rows(self, x):\n        self.row(x)\n    def row(self, x):\n        pass\n"
        "class Other:\n    def apply(self, x):\n        pass\n"
        "class Decoder:\n    def __init__(self, net: nn.Module):\n        self.net, self.filters = net, []\n"
        "        self.filters.append(First())\n"
        "    def run(self, x):\n        for i in range(9):\n            x = self.net(x)\n"
        "            for one in self.filters:\n                one.apply(x)\n"
        "            if i % 100 == 0:\n                self.show(x)\n        self.close()\n"
        "    def show(self, x):\n        pass\n    def close(self):\n        pass\n"
    )

    assert ["run", "apply", "rows", "row"] == whole(text)


DECODER = (
    "class Decoder:\n    def __init__(self, net: nn.Module):\n        self.net = net\n"
    "    def run(self, x):\n        for i in range(9):\n            x = self.net(x)\n            one(x)\n"
    "def one(x):\n    two(x)\ndef two(x):\n    three(x)\n    one(x)\ndef three(x):\n    print(x)\n"
    "def idle(x):\n    idle(x)\n    other(x)\ndef other(x):\n    idle(x)\n"
)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_generation_loop_that_calls_through_others(reverse: bool) -> None:
    steps = steps_of({"train.py": f"# model.eval()\n{DECODER}"})
    module = steps.project.module("train.py")
    assert module is not None
    functions = {function.name: function for function in module.functions}
    found = {}
    for name in sorted(("one", "two", "three", "idle", "other"), reverse=reverse):
        loop = WarmLoops(steps).warm_caller(functions[name], functions[name].flow.nodes[-1])
        found[name] = loop and loop[0].name

    assert {"one": "run", "two": "run", "three": "run", "idle": None, "other": None} == found


def warm_callers(text: str) -> dict[str, str | None]:
    """The function whose evaluation loop runs the caller of each function that is called by its name; None where none does."""
    steps = steps_of({"train.py": text})
    module = steps.project.module("train.py")
    assert module is not None
    found = {}
    for function in module.functions:
        for call in function.flow.calls:
            if isinstance(call.func, ast.Name):
                loop = WarmLoops(steps).warm_caller(function, call)
                found[call.func.id] = loop and loop[0].name
    return found


@pytest.mark.parametrize(
    ("given", "inside", "often"),
    [
        ("out.cpu()", "read(rows)", False),
        ("out.cpu(), 3", "read(rows)", False),
        ("[one.to('cpu') for one in out]", "read(rows)", False),
        ("[masks], host.size(0)", "read(rows)", False),
        ("out", "read(rows)", True),
        ("out.cpu(), out", "read(rows)", True),
        ("out.cpu(), net", "read(rows)", True),
        ("masks, found", "read(rows)", True),
        ("3", "read(rows)", True),
        ("out.cpu()", "rows = rows.to(device)\n    read(rows)", True),
        ("out.cpu()", "again(rows)\n    read(rows)", True),
    ],
)
def test_what_an_evaluation_gives_of_the_host(given: str, inside: str, often: bool) -> None:
    """What was moved to the host in front of a call is read there without a wait, unless the function sends it back."""
    text = (
        "import torch\nfrom torch import nn\n"
        "def again(rows):\n    return rows.cuda()\n"
        f"def paste(rows, more=None):\n    {inside}\n"
        "def run(net: nn.Module, loader, device, found):\n    for x in loader:\n        out = net(x.to(device))\n"
        f"        host = out.to('cpu')\n        masks = host.get('mask')\n        paste({given})\n"
    )
    assert warm_callers(text)["read"] == ("run" if often else None)


@pytest.mark.parametrize(
    ("made", "kept", "often"),
    [("Paste(0.5)", "size", False), ("Paste(nn.Linear(2, 2).cuda())", "size", True), ("Paste()", "net()", True)],
)
def test_what_an_evaluation_gives_of_the_host_to_an_object(made: str, kept: str, often: bool) -> None:
    """What an object holds itself may be on the device, whatever it is given: a model."""
    text = (
        "import torch\nfrom torch import nn\n"
        f"class Paste:\n    def __init__(self, size=2):\n        self.kept = {kept}\n"
        "    def __call__(self, rows):\n        read(rows)\n"
        "class Run:\n    def __init__(self, net: nn.Module):\n"
        f"        self.net = net\n        self.paste = {made}\n"
        "    def run(self, loader, device):\n        for x in loader:\n            out = self.net(x.to(device))\n"
        "            out = out.to('cpu')\n            self.paste(out)\n"
    )
    assert warm_callers(text)["read"] == ("run" if often else None)


def test_loops_beside_one_that_runs_a_model() -> None:
    """What a function does once is little beside its loop that runs a model; what another of its loops does is not."""
    text = (
        "# model.eval()\n"
        "def draft(net: nn.Module, x):\n"
        "    for i in range(9):\n        y = net(x)\n"
        "    once(y)\n"
        "    for one in y:\n        often(one)\n"
        "def alone(net: nn.Module, x):\n"
        "    for i in range(9):\n        y = net(x)\n"
        "    for one in y:\n        rarely(one)\n"
        "def run(net: nn.Module, loader):\n"
        "    for x in loader:\n        draft(net, net(x))\n    alone(net, x)\n"
    )
    found = warm_callers(text)

    assert {"once": None, "often": "run", "rarely": None} == {name: found[name] for name in ("once", "often", "rarely")}


def test_what_is_called_beside_a_generation() -> None:
    """What comes to a place once for each generation, or for each descent, is little next to that, whoever starts it."""
    text = (
        "# model.eval()\n"
        "def prepare(x):\n    once(x)\n    for one in x:\n        often(one)\n"
        "def sample(net: nn.Module, x, whole):\n"
        "    steps = reversed(range(9)) if whole else x\n    bar = tqdm(steps)\n"
        "    for i, step in enumerate(bar):\n        x = denoise(net, x)\n    return x\n"
        "def denoise(net: nn.Module, x):\n    within(x)\n    return net(x)\n"
        "def generate(net: nn.Module, x):\n    prepare(x)\n    return sample(net, x, True)\n"
        "def refine(x):\n    optimizer = torch.optim.SGD([x])\n"
        "    for i in range(9):\n        loss(x).backward()\n        optimizer.step()\n    behind(x)\n"
        "def descend(x):\n    refine(x)\n    other(x)\n"
        "def forward_only(net: nn.Module, x):\n    plain(net(x))\n"
        "def run(net: nn.Module, loader):\n"
        "    for x in loader:\n        net(x)\n        generate(net, x)\n        descend(x)\n        forward_only(net, x)\n"
    )
    found = warm_callers(text)
    expected = {"once": None, "often": "run", "within": "sample", "behind": None, "other": "run", "plain": "run"}

    assert expected == {name: found[name] for name in expected}


def test_a_loop_of_a_forward_behind_a_throttle() -> None:
    text = (
        "class Net(nn.Module):\n"
        "    def forward(self, x):\n"
        "        x = self.fc(x)\n"
        "        for one in x:\n            each(one)\n"
        "        if self.steps % 1000 == 0:\n            for one in x:\n                seldom(one)\n"
        "        return x\n"
        "def each(x):\n    shown(x)\n"
        "def seldom(x):\n    logged(x)\n"
    )
    found = warm_callers(text)

    assert {"shown": "forward", "logged": None} == {name: found[name] for name in ("shown", "logged")}


def test_a_model_that_a_function_inside_of_a_method_runs() -> None:
    text = (
        "# model.eval()\n"
        "class Sampler:\n"
        "    def __init__(self, net: nn.Module):\n        self.net = net\n"
        "    def step(self, x):\n"
        "        def output(x):\n            return self.net(x)\n"
        "        shown(x)\n        return output(x)\n"
        "    def idle(self, x):\n"
        "        def output(x):\n            return x\n"
        "        hidden(x)\n        return output(x)\n"
        "    def run(self, x):\n        for i in range(9):\n            x = self.step(x)\n"
        "    def pause(self, x):\n        for i in range(9):\n            x = self.idle(x)\n"
    )
    found = warm_callers(text)

    assert {"shown": "run", "hidden": None} == {name: found[name] for name in ("shown", "hidden")}


def test_a_few_runs_of_a_model_for_each_batch() -> None:
    """What scales and flips a model sees is part of an evaluation of batches: what stands beside them runs for each batch."""
    text = (
        "# model.eval()\n"
        "def windows(net: nn.Module, x):\n"
        "    starts = []\n    starts.append(0)\n"
        "    for start in starts:\n        y = net(x)\n    of_windows(y)\n"
        "def given(net: nn.Module, x, scales):\n"
        "    for scale in scales:\n        y = net(x)\n    of_given(y)\n"
        "def steps(net: nn.Module, x):\n"
        "    for step in range(9):\n        for flip in (0, 1):\n            y = net(x)\n    of_steps(y)\n"
        "def rounds(net: nn.Module, x):\n"
        "    for scale in (1, 2):\n        y = net(x)\n    of_rounds(y)\n"
        "def scales(net: nn.Module, x, twice):\n"
        "    flips = [0, 1] if twice else [0]\n    sizes = [1.0]\n    sizes.append(2.0)\n"
        "    for flip in flips:\n        for size in sizes:\n            y = net(x)\n    of_scales(y)\n"
        "def run(net: nn.Module, loader):\n"
        "    for x in loader:\n"
        "        windows(net, net(x))\n        given(net, x, [1.0])\n        steps(net, x)\n        scales(net, x, True)\n"
        "    while x:\n        rounds(net, net(x))\n"
    )
    found = {name: loop for name, loop in warm_callers(text).items() if name.startswith("of_")}

    assert {"of_windows": None, "of_given": None, "of_steps": None, "of_rounds": None, "of_scales": "run"} == found


def test_what_other_loops_call_is_not() -> None:
    assert [] == whole("def f(x):\n    pass\nfor x in y:\n    f(x)\n")


SCALER = """
class LossScaler:
    def __init__(self):
        self.scale = 1.0

    def __call__(self, loss, optimizer, update=True):
        loss.backward()  # hot
        if update:
            optimizer.step()  # hot

class Describer:
    def __call__(self, loss, optimizer):
        print(loss)
"""


def test_an_object_that_is_called_to_step() -> None:
    check(
        {
            "utils.py": SCALER,
            "engine.py": "def one_epoch(model, loader, optimizer, loss_scaler):\n"
            "    for images in loader:\n"
            "        loss = model(images)  # hot\n"
            "        loss_scaler(loss, optimizer)  # hot\n",
            "main.py": "from engine import one_epoch\n"
            "from utils import LossScaler as Scaler\n"
            "def main():\n"
            "    loss_scaler = Scaler()\n"
            "    for epoch in range(10):\n"
            "        one_epoch(model, loader, optimizer, loss_scaler)\n",
        }
    )


def test_another_object_of_that_name_steps_nothing() -> None:
    check(
        {
            "utils.py": SCALER,
            "main.py": "from utils import Describer, LossScaler\n"
            "def main():\n"
            "    scale = LossScaler()\n"
            "    return scale\n"
            "def describe(values, loss_scaler):\n"
            "    scale = Describer()\n"
            "    for value in values:\n"
            "        scale(value, None)\n"
            "        loss_scaler(value, None)\n",
        }
    )


@pytest.mark.parametrize(
    "call",
    [
        "loss_scaler(loss, optimizer, clip_grad=1.0)",
        "gradient_descent(self.critic_optim, critic_loss)",
        "lib.ops.backward_step(loss, optim)",
        "kept = [gradient_descent(optimizer, loss)]",
    ],
)
def test_a_library_steps_with_the_loss_and_the_optimizer_it_is_given(call: str) -> None:
    check_one(
        "import lib\nfrom lib import gradient_descent\n"
        "class Agent:\n"
        "    def fit(self, x, optimizer, optim, loss_scaler):\n"
        "        loss = critic_loss = torch.mean(x)  # hot\n"
        f"        {call}  # hot\n"
        "def fit(loader, loss_scaler, optimizer, optim):\n"
        "    for x in loader:\n"
        "        loss = critic_loss = torch.mean(x)  # hot\n"
        f"        {call}  # hot\n"
    )


@pytest.mark.parametrize(
    "call",
    [
        "log_step(loss, optimizer)",
        "save_checkpoint(optimizer, loss)",
        "print(loss, optimizer)",
        "make_step(model, loss)",
        "TrainStep(criterion_loss, optimizer)",  # of a loss that is none yet
        "train_step(criterion_loss, optimizer)",
        "own_step(loss, optimizer)",
        "with lib.scaler(loss, optimizer) as scaled:\n        print(scaled)",
    ],
)
def test_what_else_is_given_a_loss_and_an_optimizer_takes_no_step(call: str) -> None:
    check_one(
        "import lib\nfrom lib import log_step, save_checkpoint, make_step, TrainStep, train_step\n"
        "def own_step(loss, optimizer):\n    return loss\n"
        "def fit(x, y, optimizer, criterion_loss):\n"
        "    for x in y:\n"
        "        loss = torch.mean(x)\n"
        f"{indented(call, 2)}"
    )


def test_a_name_of_a_hundred_thousand_letters_beside_a_called_object_costs_no_squares() -> None:
    loss_scaler = "from utils import LossScaler\nloss_scaler = LossScaler()\n"
    files = {"utils.py": SCALER, "main.py": f"{loss_scaler}{'x' * 100_000}\n"}
    began = time.process_time()
    check(files)
    assert time.process_time() - began < 5  # a square of it takes minutes


def test_a_loop_over_a_loader_with_one_over_models_inside() -> None:
    check_one(
        "def predict(models, loader):\n    for epoch in range(3):\n        for batch in tqdm(loader):\n            start()  # warm\n"
        "            for model in models:\n                out = model(batch)  # warm\n            print(out)  # warm\n"
        "    for name in names:\n        start()\n        for model in models:\n            out = model(name)  # warm\n"
    )


def test_a_condition_that_a_function_gives() -> None:
    check_one(
        "class Fit:\n    def is_time(self):\n        '''Now and then.'''  # hot\n"
        "        return self.step > 9 and self.step % 10 == 0  # hot\n\n"
        "    def is_late(self):\n        if self.step % 10 == 0:\n            return True\n        return False  # hot\n\n"
        "    def is_large(self):\n        return self.loss > 3  # hot\n\n"
        "    def run(self):\n        for x in y:\n            loss.backward()  # hot\n            if self.is_time():\n                save()\n"
        "            if not self.is_time():\n                show()  # hot\n            if self.is_late():\n                save()\n"
        "            if self.is_large():\n                show()  # hot\n"
    )


def test_a_counter_of_a_loop_inside_of_the_step() -> None:
    check_one(
        "def total(rows):\n    for i in range(4):\n        loss = part(rows[i])  # hot\n        if i == 0:\n            show(loss)  # hot\n"
        "    for i, row in enumerate(rows):\n        if i == len(rows) - 1:\n            show(row)\n"
        "        if row == 0:\n            show(row)  # hot\n        if not i == 3:\n            show(row)  # hot\n"
        "    for i in range(3):\n        if not i != 3:\n            show(i)  # hot\n"
        "    for row in rows:\n        if step == 0:\n            show(row)\n"
        "    for i in steps:\n        if i == 0:\n            show(i)\n"
        "for i, x in enumerate(loader):\n    total(x).backward()  # hot\n    optimizer.step()  # hot\n    if i == 0:\n        show(x)\n"
        "    for k in range(3):\n        if k == 0:\n            show(x)  # hot\n        if i == 0:\n            show(x)\n"
        "        if k == 0 and i == 0:\n            show(x)\n"
        "    for k, part in enumerate(x):\n        if k == 0:\n            show(part)  # hot\n"
    )


def test_a_loop_inside_of_the_step_that_counts_its_turns_itself() -> None:
    check_one(
        "def refine(x):\n    turn = 0  # hot\n    while x.any():\n        if turn == 0:\n            start(x)  # hot\n"
        "        if not turn != 0:\n            start(x)  # hot\n        x = part(x)  # hot\n        turn += 1  # hot\n    return x  # hot\n"
        "def go_on(x, turn):\n    while x.any():\n        if turn == 0:\n            start(x)\n        x = part(x)  # hot\n        turn += 1  # hot\n    return x  # hot\n"
        "step = 0\nfor x in loader:\n    if step == 0:\n        show(x)\n    tries = 0  # hot\n    while x.sum() < 3:\n"
        "        if tries == 0:\n            start(x)  # hot\n        if step == 0:\n            show(x)\n        tries += 1  # hot\n        step += 1  # hot\n"
        "    refine(go_on(x, step)).backward()  # hot\n    optimizer.step()  # hot\n"
    )
    check_one(
        "def refine(x):\n    turn, best = 0, None  # hot\n    again: int = 0  # hot\n    while x.any():\n        if turn == 0:\n            start(x)  # hot\n"
        "        if again == 0:\n            start(x)  # hot\n        turn += 1  # hot\n        again = again + 1  # hot\n    return x  # hot\n"
        "def go_on(x, first):\n    turn, best = first, None  # hot\n    while x.any():\n        if turn == 0:\n            start(x)\n"
        "        turn = turn + 1  # hot\n    return x  # hot\n"
        "for x in loader:\n    refine(go_on(x, step)).backward()  # hot\n    optimizer.step()  # hot\n"
    )


def test_a_loop_that_counts_and_asks_a_criterion_runs_no_model() -> None:
    check_one(
        "criterion = nn.MSELoss()\nmodel = nn.Linear(2, 2)\n"
        "for i in range(4):\n    total = criterion(a[i], b[i])\n"
        "for x in loader:\n    total = criterion(model(x), y)  # warm\n"
        "for x, y in loader:\n    total = criterion(task(x), y)  # warm\n"
        "scales = []\nscales.append((0, 4))\n"
        "for k, (first, last) in enumerate(scales):\n    total = criterion(a[first:last], b[first:last])\n"
        "for first, last in scales:\n    total = criterion(model(a[first:last]), b[first:last])  # warm\n"
    )


def test_an_object_that_runs_a_model_when_it_is_called() -> None:
    check_one(
        "class Engine:\n    def __init__(self):\n        self.net = nn.Linear(2, 2).eval()\n        self.other = self\n"
        "    def __call__(self, x):\n        return self.net(x)\n"
        "class Stream:\n    def __init__(self):\n        self.engine = Engine()\n    def __call__(self, x=None):\n        return self.show(x)\n"
        "    def show(self, x):\n        return self.engine(x)\n"
        "class Sampler:\n    def __init__(self):\n        self.net = nn.Linear(2, 2)\n    def __call__(self, x):\n"
        "        for step in range(50):\n            x = self.net(x)  # warm\n        return x\n"
        "class Scale:\n    def __call__(self, x):\n        return x / 255\n"
        "def main(images):\n    stream = Stream()\n    sampler = Sampler()\n    scale = Scale()\n"
        "    for x in images:\n        save(stream(x))  # warm\n    for x in images:\n        save(stream())\n"
        "    for x in images:\n        save(sampler(x))\n    for x in images:\n        save(scale(x))\n"
    )


def test_a_condition_that_a_method_gives_of_a_step() -> None:
    check_one(
        "class Fit:\n    def due(self, step):\n        return self.ready and (int(step) + 1) % self.every == 0  # hot\n\n"
        "    def even(self, size):\n        return size % 8 == 0  # hot\n\n"
        "    def large(self, x):\n        return x > 3  # hot\n\n"
        "    def run(self):\n        for step, x in enumerate(y):\n            loss.backward()  # hot\n"
        "            if self.due(step):\n                save()\n            if not self.due(step):\n                show()  # hot\n"
        "            if self.even(x):\n                show()  # hot\n            if self.large(x):\n                show()  # hot\n"
    )


GIVEN = """
class Agent:
    def train(self, batch):
        loss = self.loss(batch, skip=not self.fresh)  # hot
        loss.backward()  # hot
        self.optimizer.step()  # hot
        if self.fresh:
            self.fresh = False
    def loss(self, batch, skip=False):
        if not skip:
            show(batch)
        if skip:
            other(batch)  # hot
        if batch and not skip:
            show(batch)
        return batch  # hot
"""


def test_a_flag_that_is_given_and_taken_back() -> None:
    check_one(GIVEN)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self.fresh = False", "self.stale = False"),
        ("self.fresh = False", "self.fresh = ask()"),
        ("self.fresh = False", "self.fresh = False\n        self.fresh = True"),
        ("skip=not self.fresh", "skip=False"),
        ("skip=not self.fresh", "**self.options"),
        ("skip=not self.fresh", "skip=not self.log_all"),
        ("        if not skip:", "        skip = skip and batch\n        if not skip:"),
        ("# more", "def more(batch):\n    Agent().loss(batch)\n"),
    ],
)
def test_a_flag_that_may_be_true_each_time(old: str, new: str) -> None:
    code = GIVEN + "# more"
    assert old in code
    lines = code.replace(old, new).splitlines()
    hot = {line for _, line, _ in told({"train.py": "\n".join(lines)})}
    assert {number for number, line in enumerate(lines, 1) if "show(batch)" in line} <= hot


RARE_CALLS = """
def save(x, clean=False):
    if clean:
        show(x)
    return x  # hot
def last(x):
    save(x, clean=True)
def train(loader):
    for step, x in enumerate(loader):
        x.loss.backward()  # hot
        optimizer.step()  # hot
        save(x)  # hot
        if step % 100 == 0:
            save(x, clean=True)
        if step == steps - 1:
            last(x)
"""


def test_a_flag_that_rare_calls_give() -> None:
    check_one(RARE_CALLS)
    check_one(RARE_CALLS.replace("def last(x):", "def first(x):\n    save(x, clean=True)\ndef last(x):"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("save(x)  # hot", "save(x, True)"),
        ("save(x)  # hot", "save(x, clean)"),
        ("clean=False", "clean=True"),
        ("if step % 100 == 0:", "if step > 100:"),
        ("if step == steps - 1:", "if step > steps - 3:"),
    ],
)
def test_a_flag_that_a_call_on_each_step_may_give(old: str, new: str) -> None:
    assert old in RARE_CALLS
    lines = RARE_CALLS.replace(old, new).splitlines()
    hot = {number for _, number, _ in told({"train.py": "\n".join(lines)})}
    assert {number for number, line in enumerate(lines, 1) if "show(x)" in line} <= hot


def test_a_flag_that_is_given_a_throttle() -> None:
    check_one(
        "def loss(x, report, often=False):\n    if report:\n        show(x)\n    if often:\n        show(x)  # hot\n    return x  # hot\n"
        "for step, x in enumerate(y):\n    z = loss(x, step % 100 == 0, often=step % 2 == 0)  # hot\n    z.backward()  # hot\n"
        "    optimizer.step()  # hot\n"
    )


LOOKED_AT = """
def normals(parts):
    for x in parts:
        x.requires_grad_()
        out = field(x)
        out.backward()
        y = -x.grad
    return y
class Cam:
    def __init__(self, net):
        self.net = net
        net.layer.register_full_backward_hook(self.keep)
    def keep(self, module, given, back):
        self.kept = back
    def __call__(self, x):
        self.net.zero_grad()
        self.net(x).sum().backward()
        return show(self.kept)
def run(loader):
    cam = Cam(net)
    for x in loader:
        save(cam(x))
def maps(net, x):
    net.zero_grad()
    net(x)[:, 1].sum().backward()
    grads = net.attention.get_attn_gradients()
    return grads * net.attention.get_attention_map()
def answer(loader):
    for x in loader:
        save(maps(net, x))
"""


def test_gradients_that_are_looked_at_train_nothing() -> None:
    assert {how for *_, how in told({"show.py": LOOKED_AT + "optimizer.step()"})} == {"warm"}


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("y = -x.grad", "x = x - 0.1 * x.grad", "field(x)"),
        ("y = -x.grad", "x.data -= 0.1 * x.grad", "field(x)"),
        ("y = -x.grad", "move(x, x.grad)", "field(x)"),
        ("y = -x.grad", "y = 1", "field(x)"),
        ("y = -x.grad", "y = -x.grad\n        optimizer.step()", "field(x)"),
        ("x.requires_grad_()", "x.requires_grad_(wanted)", "field(x)"),
        ("net.layer.register_full_backward_hook(self.keep)", "self.optimizer = make(net)", "cam(x)"),
        ("return show(self.kept)", "self.optimizer.step()", "cam(x)"),
        ("grads = net.attention.get_attn_gradients()", "sync_gradients()", "save(maps(net, x))"),
        ("grads = net.attention.get_attn_gradients()", "grads = net.clip_gradients(1.0)", "save(maps(net, x))"),
    ],
)
def test_gradients_that_may_train_something(old: str, new: str, line: str) -> None:
    assert old in LOOKED_AT
    lines = (LOOKED_AT.replace(old, new) + "optimizer.step()").splitlines()
    hot = {number for _, number, how in told({"show.py": "\n".join(lines)}) if how == "hot"}
    assert {number for number, text in enumerate(lines, 1) if line in text} <= hot


def test_what_is_done_when_a_program_only_tests_is_no_part_of_a_step() -> None:
    check_one(
        "def run(opt):\n    for x in y:\n        loss.backward()  # hot\n        if opt.test:\n            save(x)\n"
        "        if not opt.test:\n            show(x)  # hot\n        if opt.tested:\n            show(x)  # hot\n"
    )


def test_a_method_of_a_model_that_is_called_by_keywords() -> None:
    check_one(
        "class Net(nn.Module):\n"
        "    def forward(self, x):\n"
        "        return x\n"
        "    def outputs(self, image):\n"
        "        return self(image)\n"
        "    def width(self, image):\n"
        "        return len(image)\n"
        "def evaluate(net: Net, loader):\n"
        "    for x in loader:\n"
        "        show(net.outputs(image=x))  # warm\n"
        "    for x in loader:\n"
        "        show(net.width(image=x))\n"
        "    while ready():\n"
        "        net.outputs()\n"
    )


def test_a_name_that_is_missing_where_a_buffer_is_registered() -> None:
    check_one(
        "for x in y:\n"
        "    table = getattr(model, 'table', None)  # hot\n"
        "    if table is None:\n"
        "        model.register_buffer('table', x)  # hot\n"
        "    loss.backward()  # hot\n"
    )


def test_what_is_set_behind_a_throttle() -> None:
    check_one(
        "for i, x in enumerate(y):\n"
        "    loss.backward()  # hot\n"
        "    shown = None  # hot\n"
        "    if i % 100 == 0:\n"
        "        shown = x\n"
        "    else:\n"
        "        other = None  # hot\n"
        "    if shown is not None:\n"
        "        log(shown)\n"
        "    if shown and x:\n"
        "        log(shown)\n"
        "    if shown is None:\n"
        "        update()  # hot\n"
        "    if not shown:\n"
        "        continue  \n"
        "    log(shown)\n"
    )


def test_what_is_set_in_evaluation_alone() -> None:
    check_one(
        "class Net(nn.Module):\n"
        "    def forward(self, x):\n"
        "        if self.crop is not None and not self.training:\n"
        "            kept = self.crop(x)\n"
        "        else:\n"
        "            kept = None  # hot\n"
        "        if kept is not None:\n"
        "            x = x[kept]\n"
        "        return x  # hot\n"
        "def train(loader):\n"
        "    net = Net()\n"
        "    for x in loader:\n"
        "        net(x).backward()  # hot\n"
    )


@pytest.mark.parametrize(
    "code",
    [
        # It stays set for the iterations that follow.
        "shown = None\nfor i, x in enumerate(y):\n    loss.backward()  # hot\n    if i % 100 == 0:\n        shown = x\n    if shown is not None:\n        log(shown)  # hot\n",
        # It may be set on all of them.
        "for i, x in enumerate(y):\n    loss.backward()  # hot\n    shown = None  # hot\n    if i % 100 == 0:\n        shown = x\n    if x.ready:\n        shown = x  # hot\n    if shown is not None:\n        log(shown)  # hot\n",
        # Nothing ever clears it.
        "def fit(y, shown):\n    for i, x in enumerate(y):\n        loss.backward()  # hot\n        if i % 100 == 0:\n            shown = x\n        if shown is not None:\n            log(shown)  # hot\n",
        # A number that is 0 is there.
        "for i, x in enumerate(y):\n    loss.backward()  # hot\n    shown = 0  # hot\n    if i % 100 == 0:\n        shown = x\n    if shown is not None:\n        log(shown)  # hot\n",
    ],
)
def test_what_is_not_set_behind_a_throttle_alone(code: str) -> None:
    check_one(code)


GATHERED = (
    "def train_epoch(loader):\n"
    "    for i, x in enumerate(loader):\n"
    "        loss.backward()  # hot\n"
    "        if i % 4 == 0:\n"
    "            scaler.step(optimizer)  # hot\n"
    "    if i % 4 != 0:\n"
    "        scaler.step(optimizer)\n"
)


def test_a_step_for_what_is_left_over() -> None:
    check_one(GATHERED + "for epoch in range(9):\n    prepare()\n    train_epoch(loader)\n")
    check_one(
        "for epoch in range(9):\n"
        "    prepare()\n"
        "    for x in loader:\n"
        "        loss.backward()  # hot\n"
        "        optimizer.step()  # hot\n"
        "    optimizer.step()\n"
    )


@pytest.mark.parametrize(
    "code",
    [
        # Another optimizer, in front of the loop, or with a backward pass of its own.
        "for x in y:\n    for z in x:\n        loss.backward()  # hot\n        inner.step()  # hot\n    prepare()  # hot\n    meta_optimizer.step()  # hot\n",
        "for x in y:\n    optimizer.step()  # hot\n    for z in x:\n        loss.backward()  # hot\n        optimizer.step()  # hot\n",
        "for x in y:\n    for z in x:\n        d_loss.backward()  # hot\n        optimizer.step()  # hot\n    g_loss.backward()  # hot\n    optimizer.step()  # hot\n",
        # The loop only gathers.
        "for x in y:\n    for z in x:\n        loss.backward()  # hot\n    prepare()  # hot\n    optimizer.step()  # hot\n",
    ],
)
def test_a_step_that_is_none_left_over(code: str) -> None:
    check_one(code)


NONE_GIVEN = """
def masked(x, mask=None, other=None, third=None):
    if mask is None:
        mask = ones(x)
    if other is None:
        other = ones(x)  # hot
    if third is None:
        third = ones(x)  # hot
    mask = mask[x]  # hot
    return x * mask * other  # hot
def train(loader, third: tuple = None):
    for x in loader:
        kept, mask = partition(x)  # hot
        loss = masked(x, mask, third=third)  # hot
        loss.backward()  # hot
        optimizer.step()  # hot
"""


def test_what_every_call_gives() -> None:
    check_one(NONE_GIVEN)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return x", "    again = mask\n    return x"),
        ("masked(x, mask, third=third)", "masked(x, mask, third=third) + masked(x)"),
        ("masked(x, mask, third=third)", "masked(x, mask if kept else None, third=third)"),
        ("masked(x, mask, third=third)", "masked(x, **options)"),
        ("masked(x, mask, third=third)", "masked(x, find(x))"),
        ("masked(x, mask, third=third)", "masked(x, x.mask)"),
        ("masked(x, mask, third=third)", "masked(x, third)"),
        ("def masked(x, mask=None,", "def masked(x, mask=0,"),
        ("    if mask is None:", "    if x.empty:\n        mask = None  # hot\n    if mask is None:"),
    ],
)
def test_what_not_every_call_gives(old: str, new: str) -> None:
    code = (
        NONE_GIVEN.replace("        mask = ones(x)\n", "        mask = ones(x)  # hot\n")
        if "again" not in new
        else NONE_GIVEN
    )
    assert old in code
    code = code.replace(old, new).replace("again = mask\n", "again = mask  # hot\n")
    check_one(code)


# Calls by other names, and generators


def check_often(*files: str) -> None:
    """The lines that run on each step, or on each iteration of an evaluation loop here or above, are those marked `# often`."""
    texts = {f"file{number}.py": f"import torch\nfrom torch import nn\n{text}" for number, text in enumerate(files)}
    steps = steps_of(texts)
    loops = WarmLoops(steps)
    found = set()
    for path in texts:
        module = steps.project.module(path)
        assert module is not None
        for function in module.functions:
            for node in function.flow.nodes:
                if isinstance(node, ast.Expr | ast.Assign | ast.AugAssign | ast.Return) and (
                    steps.hot(function, node) or loops.warm(function, node) or loops.warm_caller(function, node)
                ):
                    found.add((path, node.lineno))
    lines = ((path, number, line) for path, text in texts.items() for number, line in enumerate(text.splitlines(), 1))
    assert {(path, number) for path, number, line in lines if "# often" in line} == found


EVALUATES = "    for batch in loader:\n        out = model(batch)  # often\n        fn(out)  # often\n"
READS = "def read(x):\n    x.item()\ndef count(x):\n    len(x)\n"
OFTEN = READS.replace("item()", "item()  # often")
BOTH = OFTEN.replace("len(x)", "len(x)  # often")
FACTORY = "def make(n):\n    def read(x):\n        x.item()\n    return read\n"
OFTEN_MADE = FACTORY.replace("item()", "item()  # often")


@pytest.mark.parametrize(
    "code",
    [
        # Named, but not what is called there.
        f"{READS}def run(model, loader, fn):\n    print(read)\n{EVALUATES}",
        f"{READS}def run(model, loader, fn):\n    fn(read)\n{EVALUATES}",
        f"{READS}def run(model, loader, fn):\n    other = read\n    other(1)\n{EVALUATES}",
        f"{READS}def run(model, loader, fn):\n    table = {{'a': read}}\n    fn = make(1)\n{EVALUATES}",
        f"{READS}def run(model, loader, fn=None):\n    if fn is read:\n        print(1)\n{EVALUATES}",
        # Given to a function that calls it once, or only now and then.
        f"{READS}def once(f, x):\n    f(x)\nonce(read, 1)\ndef run(model, loader, fn):\n{EVALUATES}",
        (
            f"{READS}def run(model, loader, f):\n    for i, batch in enumerate(loader):\n        out = model(batch)  # often\n"
            "        if i % 100 == 0:\n            f(out)\nrun(net, data, read)\n"
        ),
        # Given to what is not called, or called for something else, or once.
        f"{READS}def run(model, loader):\n{EVALUATES.replace('fn(out)', 'retry(read)')}",
        f"{READS}def run(model, loader):\n{EVALUATES.replace('fn(out)', 'type(read)(out)')}",
        f"{READS}def run(model, loader):\n{EVALUATES.replace('fn(out)', 'retry(1)(read)')}",
        f"{READS}def run(model, loader, fn):\n    retry(read)(1)\n{EVALUATES}",
        # Given by a function that nobody calls in the loop, or that gives another one.
        f"{FACTORY}def run(model, loader, fn):\n    other = make(1)\n    other(1)\n{EVALUATES}",
        f"{FACTORY}def run(model, loader, fn):\n    make(1)\n{EVALUATES}",
        f"{FACTORY.replace('return read', 'return other')}def run(model, loader):\n    fn = make(1)\n{EVALUATES}",
        # Kept by another object, under the same name.
        (
            f"{READS}class A:\n    def __init__(self):\n        self.fn = read\nclass B:\n    def run(self, model, loader):\n"
            f"{indented(EVALUATES.rstrip()).replace('fn(out)', 'self.fn(out)')}"
        ),
    ],
)
def test_what_no_loop_calls_by_another_name(code: str) -> None:
    check_often(code)


@pytest.mark.parametrize(
    "code",
    [
        f"{BOTH}def run(model, loader, flag):\n    fn = read if flag else count\n{EVALUATES}",
        f"{BOTH}def run(model, loader, flag):\n    if flag:\n        fn = read\n    else:\n        fn = count\n{EVALUATES}",
        f"{BOTH}TABLE = {{'a': read, 'b': count}}\ndef run(model, loader, flag):\n    fn = TABLE[flag]\n{EVALUATES}",
        f"{OFTEN}def run(model, loader, fn):\n{EVALUATES}run(net, data, read)\n",
        f"{OFTEN}def run(model, loader, fn):\n{EVALUATES}run(net, data, fn=read)\n",
        f"{OFTEN}def run(model, loader, fn):\n{EVALUATES}def start(f):\n    run(net, data, f)\nstart(read)\n",
        f"import functools\n{OFTEN}def run(model, loader):\n    fn = functools.partial(read, 1)\n{EVALUATES}",
        (
            f"{OFTEN}class A:\n    def __init__(self, fn):\n        self.fn = fn\n    def run(self, model, loader):\n"
            f"{indented(EVALUATES.rstrip()).replace('fn(out)', 'self.fn(out)')}A(read).run(net, data)\n"
        ),
        f"{OFTEN}def run(model, loader):\n{EVALUATES.replace('fn(out)', 'list(map(read, out))')}",
        f"{OFTEN}def run(model, loader):\n{EVALUATES.replace('fn(out)', 'retry(read)(out)')}",
        f"{OFTEN_MADE}def run(model, loader):\n    fn = make(1)\n{EVALUATES}",
        f"{OFTEN_MADE}def run(model, loader, flag):\n    fn = make(1) if flag else None\n{EVALUATES}",
        f"{OFTEN_MADE.replace('return read', 'return read  # often')}def run(model, loader):\n{EVALUATES.replace('fn(out)', 'make(1)(out)')}",
        (
            f"{OFTEN_MADE}class A:\n    def __init__(self):\n        self.fn = make(1)\n    def run(self, model, loader):\n"
            f"{indented(EVALUATES.rstrip()).replace('fn(out)', 'self.fn(out)')}"
        ),
        (
            "class A:\n    def __init__(self, kind):\n        self.fn = self.read\n    def read(self, x):\n        x.item()  # often\n"
            f"    def run(self, model, loader):\n{indented(EVALUATES.rstrip()).replace('fn(out)', 'self.fn(out)')}"
        ),
        (
            "def main():\n    def read(x):\n        x.item()  # often\n    run(net, data, read)\n"
            f"def run(model, loader, fn):\n{EVALUATES}"
        ),
    ],
)
def test_what_an_evaluation_loop_calls_by_another_name(code: str) -> None:
    check_often(code)


def test_a_function_that_another_file_gives_on() -> None:
    check_often(
        OFTEN,
        "from file0 import read\nfrom file2 import run\nrun(net, data, read)\n",
        f"def run(model, loader, fn):\n{EVALUATES}",
    )


def test_a_step_that_a_factory_gives() -> None:
    made = (
        "def make(net, optimizer):\n    def train(x):\n        for part in x.split(2):\n            loss = net(part)  # often\n"
        "            loss.backward()  # often\n        optimizer.step(){mark}\n        return loss.item(){mark}\n    return train\n"
    )
    idle, often = (made.format(mark=mark) for mark in ("", "  # often"))
    runs = "from file0 import make\ndef fit(rows):\n    step = make(net, adam)\n    for x in rows:\n"
    check_often(idle, f"{runs}        print(x)\n    step(rows)\n")
    check_often(idle, f"{runs}        make(net, adam)\n")
    check_often(often, f"{runs}        y = step(x)  # often\n")
    made_often = often.replace("return train", "return train  # often")
    check_often(made_often, "import file0\nfor x in rows:\n    y = file0.make(net, adam)(x)  # often\n")


def test_generators() -> None:
    """What a generator does for each thing that it gives, it does as often as the loop that goes through them."""
    gives = "def batches(rows):\n    first = rows[0]\n    for row in rows:\n        x = row.cuda(){mark}\n        yield x{mark}\n    print(first)\n"
    twice = "def batches(rows):\n    while True:\n        print(1)\n        for row in rows:\n            x = row.cuda(){mark}\n            yield x{mark}\n"
    for generator in (gives, twice):
        idle, often = (generator.format(mark=mark) for mark in ("", "  # often"))
        check_often(f"{idle}for x in rows:\n    print(x)\n")
        check_often(f"{idle}for x in batches(rows):\n    print(x)\n")
        check_often(f"{idle}print(batches(rows))\nfor x in loader:\n    y = model(x)  # often\n")
        check_often(f"{often}for x in batches(rows):\n    y = model(x)  # often\n")
        check_often(f"{often}for i, x in enumerate(batches(rows)):\n    y = model(x)  # often\n")
        check_often(f"{often}given = batches(rows)\nfor x in given:\n    y = model(x)  # often\n")
        check_often(f"{often}def run(given):\n    for x in given:\n        y = model(x)  # often\nrun(batches(rows))\n")
        check_often(f"{often}for x in batches(rows):\n{STEP.replace('# hot', '# often')}")
        check_often(
            f"{often}given = iter(batches(rows))\nfor i in range(9):\n    x = next(given)  # often\n{STEP.replace('# hot', '# often')}"
        )


def test_what_a_generator_calls() -> None:
    check_often(
        "def send(x):\n    x.cuda()  # often\ndef begin(x):\n    x.cuda()\n"
        "def batches(rows):\n    begin(rows)\n    for row in rows:\n        send(row)  # often\n        yield row  # often\n"
        f"for x in batches(rows):\n{STEP.replace('# hot', '# often')}"
    )


@pytest.mark.parametrize("body", ["        y = model(x)  # often\n", indented(STEP).replace("# hot", "# often")])
def test_an_object_that_a_loop_goes_through(body: str) -> None:
    sender = (
        "class Sender:\n    def __init__(self, rows):\n        self.rows = rows\n    def __len__(self):\n        return len(self.rows)\n"
        "    def __iter__(self):\n        for row in self.rows:\n            send(row){mark}\n            yield row{mark}\n"
        "def send(x):\n    x.cuda(){mark}\n"
    )
    run = f"def run(given):\n    for x in given:\n{body}"
    check_often(sender.format(mark="") + f"other = Sender(rows)\n{run}run([1, 2])\n")
    check_often(sender.format(mark="  # often") + f"{run}run(Sender(rows))\n")


def test_hooks_of_metrics_and_plugins() -> None:
    check_often(
        "class Accuracy(Metric):\n    def update(self, preds, target):\n        self.n = (preds == target).sum()  # often\n"
        "    def compute(self):\n        return self.n.item()\n"
        "class Boxes(DatasetEvaluator):\n    def process(self, inputs, outputs):\n        x = outputs.cpu()  # often\n"
        "    def evaluate(self):\n        return 1\n"
        "class Meter:\n    def update(self, x):\n        self.n = x\n    def process(self, x):\n        self.n = x\n"
        "class Ours(SupervisedPlugin):\n    def after_backward(self, strategy):\n        x = 1  # often\n"
        "    def before_training(self, strategy):\n        x = 1\n"
        "class Mine(Seq2SeqTrainer):\n    def prediction_step(self, model, inputs):\n        return model(inputs)  # often\n"
        "class Plain:\n    def prediction_step(self, model, inputs):\n        return inputs\n"
        "    def after_backward(self, strategy):\n        x = 1\n"
    )


def test_prediction_without_a_module() -> None:
    base = "class Base:\n    def predict(self, user):\n        pass\n    def test(self, users):\n"
    own = "class Ours(Base):\n    def predict(self, user):\n        {made}\n        return score.cpu(){mark}\n"
    one = "        for user in users:\n            found = self.predict(user){mark}\n"
    scores = "score = torch.matmul(self.users[user], self.items){mark}"
    check_often(base + one.format(mark="") + own.format(made="score = self.table[user]", mark=""))
    check_often(base + "        found = self.predict(users)\n" + own.format(made=scores.format(mark=""), mark=""))
    for several in ("users", "batch", "obs"):
        many = f"        for {several} in groups:\n            found = self.predict({several})\n"
        check_often(base + many + own.format(made=scores.format(mark=""), mark=""))
    often = "  # often"
    check_often(base + one.format(mark=often) + own.format(made=scores.format(mark=often), mark=often))


@pytest.mark.parametrize(
    ("head", "given", "often"),
    [
        ("with torch.no_grad():", "torch.cat(rows)", True),
        ("with torch.inference_mode():", "torch.cat(rows)", True),
        ("if True:", "torch.cat(rows)", False),
        ("with torch.no_grad():", "len(rows)", False),
        ("with torch.no_grad():\n        query = make()", "torch.cat(rows)", False),
    ],
)
def test_a_function_that_is_given_to_be_asked_without_gradients(head: str, given: str, often: bool) -> None:
    mark = "  # often" if often else ""
    check_often(
        f"def ask(query, rows):\n    {head}\n        for row in rows:\n            points = {given}{mark}\n            out = query(points){mark}\n"
    )


@pytest.mark.parametrize(
    ("name", "method", "owner", "often"),
    [
        ("SacAgent", "act", "self.agent", True),
        ("SacAgent", "act", "self.sac_agent", True),
        ("Sac(Agent)", "act", "agent", True),
        ("GaussianPolicy2", "act", "policy", True),
        ("SacAgent", "act", "self.env", False),
        ("SacAgent", "act", "self.agents", False),
        ("Sac", "act", "self.agent", False),
        ("AgentEnv", "act", "self.agent", False),
        ("SacAgent", "act", "self.agent.env", False),
        ("SacAgent", "train", "self.agent", False),
        ("SacAgent", "forward", "self.agent", False),
        ("SlowOptimizer", "step_all", "optimizers", False),
        ("Env", "act", "env", False),
    ],
)
def test_a_method_of_one_word_of_what_is_called_as_its_class(name: str, method: str, owner: str, often: bool) -> None:
    mark = "  # often" if often else ""
    others = "class Other:\n    def act(self, x):\n        return x\n    def step_all(self, x):\n        return x\n"
    check_often(
        f"class {name}:\n    def {method}(self, x):\n        return x.item(){mark}\n{others}",
        f"class Run:\n    def __init__(self, agent):\n        self.agent = agent\n    def train(self, agent, policy, env, optimizers):\n"
        f"        for x in loader:\n            y = {owner}.{method}(x)  # often\n{indented(STEP, 2).replace('# hot', '# often')}",
    )


@pytest.mark.parametrize(
    ("made", "asked", "often"),
    [
        ("features = Extra()", "self.features.compute(x)", True),
        ("features = Extra()", "features.compute(x)", True),
        ("features = Extra()", "self.features(x)", True),
        ("features = models.Extra()", "self.features.compute(x)", True),
        ("features: Extra = Extra()", "self.features.compute(x)", True),
        ("self.features = Extra()", "self.features.compute(x)", True),
        ("run(features=Extra())", "self.features.compute(x)", True),
        ("run(**{'features': Extra()})", "self.features(x)", True),
        ("features = Extra()", "self.other.compute(x)", False),
        ("features = Extra()", "self.features[0].compute(x)", False),
        ("features = Extra()", "self.features.net.compute(x)", False),
        ("features = Extra()", "self.other(x)", False),
        ("features = Extra()", "x.features.unknown(x)", False),
        ("features = Extra", "self.features.compute(x)", False),
        ("features = Extra.load()", "self.features.compute(x)", False),
        ("features = NotExtra()", "self.features.compute(x)", False),
        ("features == Extra()", "self.features.compute(x)", False),
        ("more_features = Extra()", "self.features.compute(x)", False),
        ("features = Extra()", "self.features.setup(x)", False),
    ],
)
def test_an_object_that_is_called_as_where_its_class_is_made(made: str, asked: str, often: bool) -> None:
    method = "__call__" if asked.endswith(("features(x)", "other(x)")) else "compute"
    method = "setup" if "setup" in asked else method
    check_often(
        f"class Extra:\n    def {method}(self, x):\n        return x.item(){'  # often' if often else ''}\n",
        f"import models\nfrom models import Extra\ndef main():\n    {made}\n",
        "class Run:\n    def __init__(self, features, other):\n        self.features = features\n"
        "    def train(self, features, loader):\n"
        f"        for x in loader:\n            y = {asked}  # often\n{indented(STEP, 2).replace('# hot', '# often')}",
    )


def test_an_object_called_as_those_of_too_many_classes() -> None:
    classes = "".join(f"class Extra{n}:\n    def compute(self, x):\n        return x.item()\n" for n in range(9))
    made = "".join(f"    features = Extra{n}()\n" for n in range(9))
    check_often(
        f"{classes}def main():\n{made}",
        "def train(features, loader):\n    for x in loader:\n        y = features.compute(x)  # often\n"
        + indented(STEP).replace("# hot", "# often"),
    )


def test_an_object_of_a_known_class_is_of_no_other_that_is_called_alike() -> None:
    check_often(
        "class SlowAgent:\n    def act(self, x):\n        return x.item()\n"
        "class FastAgent:\n    def act(self, x):\n        return x  # often\n"
        "def train():\n    agent = FastAgent()\n    for x in loader:\n        agent.act(x)  # often\n"
        + indented(STEP).replace("# hot", "# often"),
    )


def test_a_loop_that_asks_its_user() -> None:
    check_one(
        "def chat(model: nn.Module):\n    while True:\n        prompt = input()\n        out = model(prompt)\n"
        "        for token in range(100):\n            out = model(out)  # warm\n        print(out.item())\n"
        "def talk(model: nn.Module, input):\n    for batch in batches:\n        out = model(self.input(batch))  # warm\n"
    )


def test_what_a_decoder_does_at_its_end() -> None:
    """A loop behind one that runs a model is an evaluation, but where few iterations of a loop around both come to it."""
    decodes = (
        "def decode(model: nn.Module, hypotheses, length, {given}):\n    for at in range(length):\n"
        "        for one in hypotheses:\n            scores = model(one)  # often\n{behind}"
    )
    ends = "            for one in {given}:\n                kept.append(torch.cat([scores, one])){mark}\n"
    for condition, given, often in (
        ("at == length - 1", "finished", False),
        ("at % 100 == 0", "finished", False),
        ("wide", "finished", True),
    ):
        behind = f"        if {condition}:\n" + ends.format(given=given, mark="  # often" if often else "")
        check_often(decodes.format(given=given, behind=behind))


def test_trials_of_an_evaluation() -> None:
    """What is compared after a model has run, pair by pair, is as much of an evaluation as that."""
    embeds = "def evaluate(model, files, {given}, table):\n    for file in files:\n        table[file] = model(file)  # often\n"
    scores = "    for one, other in {given}:\n        score = {made}{mark}\n        kept.append(score){mark}\n"
    for given, made, often in (
        ("pairs", "torch.matmul(table[one], table[other].T)", True),
        ("pairs", "torch.cdist(table[one], table[other]).mean()", True),
        ("pairs", "table[one].view(-1)", False),
        ("pairs", "len(table[one])", False),
        ("pairs", "torch.zeros(3)", False),
        ("pairs", "torch.matmul(table[one].cpu(), table[other].cpu())", False),
    ):
        mark = "  # often" if often else ""
        check_often(embeds.format(given=given) + scores.format(given=given, made=made, mark=mark))
    compared = "torch.matmul(table[one], table[other].T)"
    check_often(embeds.format(given="x") + scores.format(given="[(1, 2), (3, 4)]", made=compared, mark=""))
    check_often(embeds.format(given="x") + scores.format(given="totals.items()", made=compared, mark=""))
    check_often(
        embeds.format(given="pairs").replace("model(file)  # often", "len(file)")
        + scores.format(given="pairs", made=compared, mark="")
    )


def test_files_that_a_program_trains() -> None:
    """What a training loop imports, through others as well; a test trains nothing."""
    train = "from {0} import Net\ndef {1}():\n    net = Net()\n    for x in loader:\n        net(x).backward()\n        optimizer.step()\n"
    steps = steps_of(
        {
            "parts.py": "import torch\nclass Part(torch.nn.Module):\n    pass\n",
            "net.py": "import torch\nfrom parts import Part\nclass Net(torch.nn.Module):\n    pass\n",
            "train.py": train.format("net", "train"),
            "other.py": "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x\n",
            "tests/test_other.py": train.format("other", "test_it"),
            "alone.py": "import torch\nclass Net(torch.nn.Module):\n    pass\n",
        }
    )
    assert [path for path in steps.project.paths if steps.trains(path)] == ["net.py", "parts.py", "train.py"]


def test_backward_passes_of_a_benchmark() -> None:
    """Who goes through models and calls a benchmark of backward passes trains nothing; a benchmark with an optimizer does."""
    measure = "def measure(model, x):\n    model(x).sum().backward(){0}\n    compare(model)\n{1}"
    compare = "def compare(model):\n    seen.append(model.weight.grad){0}\n"
    runs = "from {0} import measure\ndef main():\n    for model in models:\n        measure(model, x){1}\n"
    check(
        {"benchmarks/parts.py": measure.format("", compare.format("")), "run.py": runs.format("benchmarks.parts", "")}
    )
    hot = "  # hot"
    step = measure.format(hot, compare.format(hot)).replace("    compare(model)", "    compare(model)  # hot")
    check({"parts.py": step, "run.py": runs.format("parts", hot)})
    trains = step.replace("    compare", "    optimizer.step()  # hot\n    compare", 1)
    check({"benchmarks/parts.py": trains, "run.py": runs.format("benchmarks.parts", hot)})


def test_cases_of_a_benchmark() -> None:
    """A benchmark that goes through what it measures runs a model for each; one that goes through data evaluates."""
    runs = (
        "import torch\n@torch.no_grad()\ndef compare(model, {0}):\n    for one in {0}:\n        out = model(one){1}\n"
    )
    check({"benchmarks/parts.py": runs.format("cases", "")})
    check({"benchmarks/parts.py": runs.format("loader", "  # warm")})
    check({"parts.py": runs.format("cases", "  # warm")})


def test_a_step_of_an_evaluation_is_no_part_of_a_step() -> None:
    check_one(
        "class Own:\n    def _train(self, x):\n        self.training_step(x)  # hot\n    def _valid(self, x):\n        self.validation_step(x)  # hot\n"
        "    def training_step(self, x):\n        self.net(x).sum().backward()  # hot\n        self.optimizer.step()  # hot\n"
        "    def validation_step(self, x):\n        return show(self.net(x))\n"
        "    def valid_step(self, x):\n        return show(self.net(x))\n"
        "    def shown(self, x):\n        return show(self.net(x))  # hot\n"
        "def each(loader, fn):\n    for x in loader:\n        fn(x)  # hot\n"
        "own = Own()\neach(loader, own._train)\neach(loader, own._valid)\neach(loader, own.valid_step)\neach(loader, own.shown)\n"
    )
