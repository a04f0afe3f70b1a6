"""What an expression is and where it lives.

A value is written as `kind @device ...`: `tensor @cpu scalar`, `list[number]`, `tensor? or number`. A question mark
says that a name or a use suggests it, no mark that it is proven.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

ValueOf = Callable[[str], str]
OPERATORS = """\
class A:
    def __add__(self, x):
        return self
    def __mul__(self, x: torch.Tensor):
        return x.cuda()
"""
LOADER = "loader = DataLoader(d)\n"
DEVICE = "device = torch.device('cuda')\n"
FORWARD = "class Net(nn.Module):\n    def forward(self, x):\n        x"


# What is no tensor


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x", "unknown"),
        ("x.y.z", "unknown"),
        ("x.entropy(p)", "unknown"),
        ("x.log_prob()", "unknown"),
        ("x.sample()", "unknown"),
        ("x.loss(y)", "unknown"),
        ("x.split(',')", "list[str]"),
        ("torch.zeros(3).split(',')", "list[str]"),
        ("losses['a'](x)", "unknown"),
        ("f(1)", "unknown"),
        ("1", "number = 1"),
        ("1.5", "number = 1.5"),
        ("True", "number = True"),
        ("None", "none"),
        ("'a'", "str = 'a'"),
        ("b'a'", "unknown"),
        ("...", "unknown"),
        ("f'{x}'", "str"),
        ("f'{x:{n}}'", "str"),
        ("-1", "number = -1"),
        ("not torch.zeros(3)", "number"),
        ("1 + 2 * 3 - 1", "number = 6"),
        ("7 // 2", "number = 3"),
        ("7 // 0", "number"),
        ("1 / 2", "number"),
        ("(1 << 50) + 1", "number"),
        ("'a' + 'b'", "str"),
        ("'%d' % 3", "str"),
        ("1 < 2", "number"),
        ("x is None", "number"),
        ("torch.zeros(3) is None", "number"),
        ("torch.zeros(3) in items", "number"),
        ("torch.zeros(3) == None", "number"),
        ("len(torch.zeros(3))", "number"),
        ("isinstance(torch.zeros(3), int)", "number"),
        ("float(torch.zeros(3))", "number"),
        ("int('3')", "number"),
        ("round(2.5)", "number"),
        ("str(torch.zeros(3))", "str"),
        ("print(1)", "none"),
        ("torch.zeros(3).shape", "size[number]"),
        ("torch.zeros(3).shape[0]", "number"),
        ("torch.zeros(3).shape[1:]", "size[number]"),
        ("torch.zeros(3).size()", "size[number]"),
        ("torch.zeros(3).size(0)", "number"),
        ("torch.zeros(3).dim()", "number"),
        ("torch.zeros(3).numel()", "number"),
        ("torch.zeros(3).item()", "number"),
        ("torch.zeros(3).tolist()", "list[number]"),
        ("torch.zeros(3).numpy().tolist()", "list[number]"),
        ("torch.zeros(3).numpy().item()", "number"),
        ("[0] + loss", "list[number]"),  # a tensor takes no list
        ("torch.tensor([0] + loss).cumsum(0)", "tensor @cpu"),
        ("([0] + x)[1]", "number"),
        ("torch.zeros(3).numpy()", "ndarray"),
        ("torch.zeros(3).dtype", "dtype"),
        ("torch.zeros(3).device", "device @cpu"),
        ("torch.zeros(3).type()", "str"),
        ("torch.zeros(3).backward()", "none"),
        ("torch.zeros(3).ndim", "number"),
        ("torch.zeros(3).grad_fn", "unknown"),
        ("torch.zeros(3).unknown_attribute", "unknown"),
        ("torch.is_tensor(x)", "number"),
        ("torch.equal(torch.zeros(3), x)", "number"),
        ("torch.Size([1])", "size[number]"),
        ("torch.no_grad()", "context"),
        ("torch.cuda.is_available()", "number where there is an accelerator"),
        ("torch.cuda.device_count()", "number"),
        ("torch.cuda.Event()", "instance torch.cuda.Event"),
        ("torch.cuda.stream(s)", "context"),
        ("torch.distributed.get_rank()", "number"),
        ("torch.distributed.is_initialized()", "number"),
        ("torch.distributed.barrier()", "unknown"),
        ("torch.compiler.is_compiling()", "number"),
        ("torch.load('x')", "unknown"),
        ("torch.no_such_function(torch.zeros(3))", "unknown"),
        ("torch.ops.library.operator(torch.zeros(3))", "unknown"),
        ("torch.vmap(torch.zeros)", "unknown"),
        ("torch.cond(p, f, g, (torch.zeros(3),))", "unknown"),
        ("torch.zeros(3).no_such_method()", "unknown"),
        ("torch.zeros(3).is_shared()", "number"),
        ("torch.zeros(3).stride(0)", "number"),
        ("torch.zeros(3).untyped_storage()", "unknown"),
        ("nn.init.calculate_gain('relu')", "number"),
        ("torch.save(x, 'x')", "none"),
        ("torch.get_default_dtype()", "dtype"),
        ("torch.manual_seed(1)", "unknown"),
        ("np.zeros(3)", "ndarray"),
        ("(torch.zeros(3) if a else np.zeros(3)).reshape(1)", "tensor? @cpu or ndarray"),
        ("(torch.zeros(3) if a else np.zeros(3)).sum()", "tensor? @cpu scalar or ndarray"),
        ("(torch.zeros(3) if a else np.zeros(3)).softmax(0)", "tensor @cpu"),
        ("(torch.zeros(3) if a else 3.0).sum()", "tensor @cpu scalar"),
        ("np.zeros(3) * 2", "ndarray"),
        ("np.zeros(3) < 2", "ndarray"),
        ("np.zeros(3)[0]", "ndarray or number"),
        ("np.zeros(3)[0] * args.factor", "ndarray or number"),
        ("args.factor * np.zeros(3)", "ndarray"),
        ("np.zeros(3)[0] + np.zeros(3)", "ndarray"),
        ("np.zeros((3, 2))[:, 0]", "ndarray"),
        ("np.zeros(3).shape", "size[number]"),
        ("np.zeros(3).T", "ndarray"),
        ("import cv2\ncv2.imread(path)[..., ::-1] * 1.0 / 255", "ndarray"),
        ("import cv2\ncv2.imread(path).astype(np.float32)", "ndarray"),
        ("import cv2\ncv2.VideoCapture(0)", "unknown"),
        ("from PIL import Image\nImage.open(path).convert('RGB')", "instance PIL.Image.Image"),
        ("import PIL.Image\nPIL.Image.fromarray(x).crop(box).resize((2, 2))", "instance PIL.Image.Image"),
        ("from PIL import Image\nImage.open(path).getpixel((0, 0))", "unknown"),
        ("np.zeros(3).flags", "unknown"),
        ("np.zeros(3).mean()", "number"),
        ("np.zeros(3).mean(axis=0)", "ndarray"),
        ("np.zeros(3).mean(*axes)", "ndarray"),
        ("np.zeros(3).copy()", "ndarray"),
        ("np.zeros(3).item()", "number"),
        ("np.prod(torch.zeros(3).shape)", "number"),
        ("np.log(2)", "number"),
        ("np.maximum(1, 2.5)", "number"),
        ("np.log(np.zeros(3))", "ndarray"),
        ("np.sqrt(1 - torch.zeros(3))", "tensor @cpu"),
        ("np.maximum(torch.zeros(3), np.zeros(3))", "tensor @cpu"),
        ("np.maximum(np.zeros(3), torch.zeros(3))", "ndarray"),
        ("np.maximum(1, np.zeros(3))", "ndarray"),
        ("np.log(2, out=a)", "ndarray"),
        ("np.log(*a)", "ndarray"),
        ("np.cos(x)", "ndarray or number"),
        ("np.maximum(1, x)", "ndarray or number"),
        ("np.cos(x, out=a)", "ndarray"),
        ("np.cos(np.pi * 2)", "number"),
        ("np.pi", "number"),
        ("torch.inf", "number"),
        ("np.load('x')", "unknown"),
        ("np.array(torch.zeros(3))", "ndarray"),
        ("import time\ntime.time()", "number"),
        ("import math\nmath.sqrt(torch.zeros(3))", "number"),
        ("import os\nos.getcwd()", "unknown"),
        ("lambda x: x", "function?"),
        ("(yield)", "unknown"),
    ],
)
def test_what_is_no_tensor(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(code)


# Tensors


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("torch.zeros(3)", "tensor @cpu"),
        ("torch.zeros(3, device='cpu')", "tensor @cpu"),
        ("torch.zeros(3, device='cuda:0')", "tensor @accelerator"),
        ("torch.zeros(3, device=d)", "tensor"),
        ("torch.zeros(3, device=0)", "tensor @accelerator"),
        ("torch.zeros(3, **options)", "tensor"),
        ("torch.zeros(3, device=device)", "tensor @accelerator"),
        ("torch.zeros(3, device=torch.zeros(1).device)", "tensor @cpu"),
        ("torch.tensor(3)", "tensor @cpu scalar"),
        ("torch.tensor([3])", "tensor @cpu"),
        ("torch.as_tensor(torch.zeros(3).to(device))", "tensor @accelerator"),
        ("torch.randint(3, (2,))", "tensor @cpu integer"),
        ("torch.zeros_like(x)", "tensor"),
        ("torch.zeros_like(torch.zeros(3))", "tensor @cpu"),
        ("torch.zeros_like(torch.zeros(3), device=device)", "tensor @accelerator"),
        ("torch.zeros_like(torch.zeros(3), device=d)", "tensor"),
        ("torch.from_numpy(a)", "tensor @cpu"),
        ("torch.cuda.FloatTensor(3)", "tensor @accelerator"),
        ("torch.zeros(3).cuda().type(torch.LongTensor)", "tensor @cpu integer"),
        ("torch.zeros(3).cuda().type(torch.cuda.LongTensor)", "tensor @accelerator integer"),
        ("torch.zeros(3).cuda().type(torch.Tensor)", "tensor @accelerator"),
        ("torch.zeros(3).cuda().type(kind)", "tensor @accelerator"),
        ("torch.add(x, y)", "tensor"),
        ("torch.add(torch.zeros(3), 1)", "tensor @cpu"),
        ("torch.add(torch.zeros(3), torch.zeros(3).cuda())", "tensor @accelerator"),
        ("torch.sum(x)", "tensor scalar"),
        ("torch.sum(x, 1)", "tensor"),
        ("torch.sum(x, dim=1)", "tensor"),
        ("torch.argmax(x)", "tensor scalar integer"),
        ("torch.max(x)", "tensor scalar"),
        ("torch.max(x, 1)", "tuple(tensor, tensor integer)"),
        ("torch.max(torch.zeros(3), torch.zeros(3))", "tensor @cpu"),
        ("torch.topk(x, 3)", "tuple(tensor, tensor integer)"),
        ("torch.sort(x)[0]", "tensor"),
        ("nn.utils.rnn.pad_packed_sequence(x)", "tuple(tensor, tensor @cpu integer)"),
        ("nn.utils.rnn.pad_packed_sequence(x.cuda())[1].max()", "tensor @cpu scalar"),
        ("nn.utils.rnn.pack_padded_sequence(x, y).batch_sizes[0]", "tensor @cpu integer"),
        (
            "nn.utils.rnn.pack_padded_sequence(x.cuda(), y, enforce_sorted=False).sorted_indices",
            "tensor @accelerator integer",
        ),
        ("nn.utils.rnn.pack_padded_sequence(x.cuda(), y, enforce_sorted=False)[3]", "tensor @accelerator integer"),
        ("nn.utils.rnn.pack_padded_sequence(x.cuda(), y).sorted_indices", "none"),
        (
            "nn.utils.rnn.pack_sequence([torch.zeros(3).cuda()], enforce_sorted=False).unsorted_indices",
            "tensor @accelerator integer",
        ),
        ("nn.utils.rnn.pack_sequence([torch.zeros(3).cuda()]).data", "tensor @accelerator"),
        ("x.batch_sizes", "unknown"),
        ("torch.split(x, 3)", "list[tensor]"),
        ("torch.where(x)", "list[tensor integer]"),
        ("torch.where(x, 1, 0)", "tensor"),
        ("torch.nonzero(x)", "tensor integer"),
        ("torch.isnan(x)", "tensor boolean"),
        ("torch.any(x)", "tensor scalar boolean"),
        ("torch.linalg.norm(x)", "tensor scalar"),
        ("F.relu(x)", "tensor"),
        ("F.cross_entropy(x, y)", "tensor scalar grad"),
        ("F.cross_entropy(x, y, reduction='none')", "tensor grad"),
        ("nn.utils.clip_grad_norm_(p, 1.0)", "tensor scalar"),
        ("nn.utils.rnn.pad_sequence(x)", "tensor"),
        ("nn.utils.remove_weight_norm(x)", "unknown"),
        ("nn.init.normal_(torch.zeros(3))", "tensor @cpu"),
        ("nn.init.normal_(x)", "tensor"),
        ("nn.Parameter(torch.zeros(3))", "tensor parameter"),
        ("nn.Parameter(x)", "tensor parameter"),
        ("torch.utils.checkpoint.checkpoint(f, x)", "tensor?"),
        ("torch.autograd.grad(x, y)", "list[tensor]"),
        ("torch.distributions.Normal(torch.zeros(3), 1)", "distribution torch.distributions.Normal @cpu"),
        ("torch.distributions.Normal(x, 1).sample()", "tensor grad"),
        ("torch.distributions.Normal(x, 1).mean", "tensor"),
        ("torch.distributions.Normal(x, 1).support", "unknown"),
        ("torch.distributions.kl_divergence(p, q)", "tensor"),
    ],
)
def test_tensors_that_torch_makes(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(DEVICE + code)


# Calls whose arguments decide whether they give one tensor or several


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("torch.unique(x)", "tensor"),
        ("torch.unique(x, True)", "tensor"),
        ("torch.unique(x, return_inverse=False)", "tensor"),
        ("torch.unique(x, return_inverse=True)", "tuple(tensor, tensor integer)"),
        ("torch.unique(x, True, True)", "tuple(tensor, tensor integer)"),
        ("torch.unique(x, return_inverse=True).counts", "unknown"),
        ("torch.unique(x, return_counts=True, return_inverse=True)", "tuple(tensor, tensor integer, tensor integer)"),
        ("x = torch.zeros(3)\nx.unique(return_counts=True)", "tuple(tensor @cpu, tensor @cpu integer)"),
        ("x = torch.zeros(3)\nx.unique()", "tensor @cpu"),
        ("torch.unique_consecutive(x, return_counts=True)[1]", "tensor integer"),
        ("x = torch.zeros(3)\nx.nonzero(as_tuple=True)", "list[tensor @cpu integer]"),
        ("x = torch.zeros(3)\nx.nonzero(as_tuple=False)", "tensor @cpu integer"),
        ("F.max_pool2d(x, 2)", "tensor"),
        ("F.max_pool2d(x, 2, return_indices=True)", "tuple(tensor, tensor integer)"),
        ("F.max_pool2d(x, 2, 2, 0, 1, False, True)", "tuple(tensor, tensor integer)"),
        ("F.adaptive_max_pool1d(x, 2, True)", "tuple(tensor, tensor integer)"),
        ("nn.MaxPool2d(2)(x)", "tensor grad"),
        ("nn.MaxPool2d(2, return_indices=True)(x)", "tuple(tensor grad, tensor integer)"),
        ("torch.linalg.lstsq(x, x)", "tuple(tensor, tensor, tensor, tensor)"),
        ("torch.linalg.lstsq(x, x).solution", "tensor"),
        ("torch.linalg.svd(x)[1]", "tensor"),
        ("torch.linalg.svd(x, full_matrices=False).Vh", "tensor"),
        ("torch.linalg.inv_ex(x)", "tuple(tensor, tensor integer)"),
        ("torch.linalg.slogdet(x)", "tuple(tensor, tensor)"),
        ("torch.svd_lowrank(x)", "tuple(tensor, tensor, tensor)"),
        ("torch.lobpcg(x)", "tuple(tensor, tensor)"),
        ("torch.lu(x)", "tuple(tensor, tensor integer)"),
        ("torch.lu(x, get_infos=True)", "tuple(tensor, tensor integer, tensor integer)"),
        ("torch.histogramdd(x, 3)", "tuple(tensor, list[tensor])"),
        ("torch.unravel_index(x, (2, 2))", "list[tensor]"),
        ("torch.embedding_bag(x, y)", "tuple(tensor, tensor, tensor, tensor)"),
        ("F.embedding_bag(x, y)", "tensor"),
        ("torch.max(x, dim=1)", "tuple(tensor, tensor integer)"),
        ("torch.max(x, -1, True)[0]", "tensor"),
        ("torch.max(torch.zeros(3), other=x)", "tensor @cpu"),
        ("torch.where(condition=x)", "list[tensor integer]"),
        ("torch.where(x, input=1, other=0)", "tensor"),
        ("torch.atleast_1d(torch.zeros(3))", "tensor @cpu"),
        ("torch.atleast_1d(torch.zeros(3), x)", "list[tensor @cpu]"),
        ("nn.LSTM(3, 3)(x)", "tuple(tensor grad, unknown)"),
        ("nn.Sequential(nn.Linear(3, 3), nn.LSTM(3, 3))(x)", "tuple(tensor grad, unknown)"),
        ("nn.Sequential(*layers)(x)", "tensor? grad"),
        ("y.log_prob(x)", "tensor? grad"),
        ("y.entropy().mean()", "tensor scalar grad"),
        ("y.rsample()", "tensor? grad"),
        ("self.loss(model(x), y)", "tensor? grad"),
        ("losses['a'](model(x), y)", "tensor? grad"),
        ("y.loss(model(x))", "tensor? grad"),
        ("models[0](x)", "tensor? grad"),
        ("{f'{x}': model(x)}.popitem()", "tuple(unknown, tensor? grad)"),
        ("{'a': model(x)}.popitem()[0]", "str"),
        ("model(x).popitem()", "tuple(str, tensor? grad)"),
        ("torch.utils.checkpoint.checkpoint(nn.LSTM(3, 3), x)", "tuple(tensor grad, unknown)"),
    ],
)
def test_arguments_decide_what_comes_out(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(code)


@pytest.mark.parametrize(
    "code",
    [
        "torch.unique(x, return_inverse=flag)",
        "torch.unique(x, **options)",
        "torch.unique(x, True, flag)",
        "torch.nonzero(x, as_tuple=flag)",
        "F.max_pool2d(x, 2, return_indices=flag)",
        "F.max_pool2d(x, *arguments)",
        "torch.max(x, y)",
        "torch.max(x, *arguments)",
        "torch.where(*arguments)",
        "torch.atleast_2d(x)",
    ],
)
def test_arguments_that_are_not_known_leave_it_open(value_of: ValueOf, code: str) -> None:
    assert "unknown" == value_of(code)


def test_a_pooling_layer_whose_flag_is_not_known_may_give_a_tensor(value_of: ValueOf) -> None:
    assert "tensor? grad" == value_of("nn.MaxPool2d(2, return_indices=flag)(x)")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("t + 1", "tensor @cpu"),
        ("1 - t", "tensor @cpu"),
        ("t + unknown", "tensor @cpu"),
        ("t + t.cuda()", "tensor @accelerator"),
        ("t.sum() / 2", "tensor @cpu scalar"),
        ("t.sum() * t", "tensor @cpu"),
        ("t.sum() * unknown", "tensor or unknown"),
        ("t > 0", "tensor @cpu boolean"),
        ("t.sum() > 0", "tensor @cpu scalar boolean"),
        ("t.sum() > t", "tensor @cpu boolean"),
        ("(t > 0) & (t < 1)", "tensor @cpu boolean"),
        ("(t > 0) + (t < 1)", "tensor @cpu"),
        ("~(t > 0)", "tensor @cpu boolean"),
        ("-t", "tensor @cpu"),
        ("t[0]", "tensor @cpu"),
        ("t.sum()[None]", "tensor @cpu"),
        ("t[t > 0]", "tensor @cpu"),
        ("t.T", "tensor @cpu"),
        ("t.data", "tensor @cpu"),
        ("t.is_cuda", "number"),
        ("t.view(-1)", "tensor @cpu"),
        ("t.unsqueeze(0).expand(3, 3)", "tensor @cpu"),
        ("t.sum()", "tensor @cpu scalar"),
        ("t.sum(0)", "tensor @cpu"),
        ("t.mean(dim=-1)", "tensor @cpu"),
        ("t.max(1)", "tuple(tensor @cpu, tensor @cpu integer)"),
        ("t.max(1).values", "tensor @cpu"),
        ("t.sort().indices", "tensor @cpu integer"),
        ("t.max(1).other", "unknown"),
        ("t.chunk(2)", "list[tensor @cpu]"),
        ("t.long()", "tensor @cpu integer"),
        ("t.long().clone()", "tensor @cpu integer"),
        ("(t > 0).clone()", "tensor @cpu boolean"),
        ("torch.stack((t > 0, t < 1))", "tensor @cpu boolean"),
        ("torch.cat([t, other])", "tensor @cpu"),  # else it raises
        ("torch.cat([torch.relu(unknown), t])", "tensor @cpu"),
        ("torch.stack((t, torch.relu(unknown)), dim=1)", "tensor @cpu"),
        ("torch.cat([torch.relu(unknown), torch.relu(other)])", "tensor"),
        ("torch.cat([torch.relu(unknown), t.cuda()])", "tensor @accelerator"),
        ("torch.add(torch.relu(unknown), t)", "tensor @cpu"),  # else it raises
        ("torch.add(torch.relu(unknown), torch.zeros(()))", "tensor"),
        ("torch.relu(unknown) * torch.tensor(0.5)", "tensor"),
        ("torch.relu(unknown) * torch.ones(n)", "tensor @cpu"),
        ("torch.relu(unknown) * (1 - t).sum()", "tensor"),
        ("torch.cat(t, [])", "tensor @cpu"),
        ("torch.where(other > limit)[0]", "tensor integer"),
        ("torch.cat([t for _ in range(3)])", "tensor @cpu"),
        ("torch.cat([t, t.cuda()])", "tensor @accelerator"),
        ("torch.cat((*[t, t], t))[0]", "tensor @cpu"),
        ("torch.meshgrid(*[torch.arange(n) for n in size])[0]", "tensor @cpu"),
        ("torch.meshgrid(*[torch.arange(n, device='cuda') for n in size])[0]", "tensor @accelerator"),
        ("torch.meshgrid(*rows)[0]", "tensor"),
        ("F.mse_loss(x.returns, other.cpu())", "tensor @cpu scalar grad"),
        ("F.mse_loss(x.returns, other)", "tensor scalar grad"),
        ("F.mse_loss(t.cuda(), other)", "tensor @accelerator scalar grad"),
        ("torch.meshgrid(t, *rows)[0]", "tensor @cpu"),
        ("torch.ones_like(t > 0)", "tensor @cpu boolean"),
        ("torch.ones_like(t > 0, dtype=torch.float32)", "tensor @cpu"),
        ("torch.zeros(3, dtype=torch.bool)", "tensor @cpu boolean"),
        ("torch.zeros(3, dtype=torch.long)", "tensor @cpu integer"),
        ("(t > 0).view(-1)", "tensor @cpu boolean"),
        ("(t > 0).view(torch.uint8)", "tensor @cpu"),
        ("(t > 0).sum(1)", "tensor @cpu"),
        ("(t > 0).to(torch.float32)", "tensor @cpu"),
        ("(t > 0).to('cuda')", "tensor @accelerator boolean"),
        ("(t > 0).to('cuda', torch.long)", "tensor @accelerator integer"),
        ("t.to(dtype=torch.bool)", "tensor @cpu boolean"),
        ("t.bool()", "tensor @cpu boolean"),
        ("t.type(torch.bool)", "tensor @cpu boolean"),
        ("(t > 0).type(torch.int64)", "tensor @cpu integer"),
        ("t.char()", "tensor @cpu integer"),
        ("t.long().unsqueeze(0)", "tensor @cpu integer"),
        ("t.long().mean()", "tensor @cpu scalar"),
        ("t.long().float()", "tensor @cpu"),
        ("(t > 0).float()", "tensor @cpu"),
        ("t.new_zeros(3)", "tensor @cpu"),
        ("t.new_zeros(3, device='cuda')", "tensor @accelerator"),
        ("t.type_as(t.cuda())", "tensor @accelerator"),
        ("t.to('cuda')", "tensor @accelerator"),
        ("t.to({'a': 1})", "tensor"),
        ("import copy\nt.to(copy.deepcopy(whatever))", "tensor"),
        ("t.to(device='cuda')", "tensor @accelerator"),
        ("t.to(torch.float16)", "tensor @cpu"),
        ("t.to(dtype=torch.float16)", "tensor @cpu"),
        ("t.to(unknown)", "tensor"),
        # What is imported may be a device, unless it is called a dtype.
        ("from settings import options\nt.to(options.device)", "tensor"),
        ("from settings import options\nt.to(options.dtype)", "tensor @cpu"),
        ("from settings import DTYPE\nt.to(DTYPE)", "tensor @cpu"),
        ("from settings import options\nt.to(options.precision)", "tensor @cpu"),
        ("from settings import HALF\nt.to(HALF)", "tensor @cpu"),
        ("t.to(t.cuda())", "tensor @accelerator"),
        ("t.to(rank)", "tensor"),
        ("t.to(0)", "tensor @accelerator"),
        ("t.to(device=float(rank))", "tensor @accelerator"),
        ("t.to(True)", "tensor @cpu"),
        ("t.to(f'cuda:{rank}')", "tensor @accelerator"),
        ("t.to('meta')", "tensor @cpu"),
        ("t.cuda()", "tensor @accelerator"),
        ("t.cuda().cpu()", "tensor @cpu"),
        ("t.pin_memory()", "tensor @cpu pinned"),
        ("torch.zeros(3, pin_memory=True)", "tensor @cpu pinned"),
        ("torch.tensor([1], pin_memory=True)", "tensor @cpu pinned"),
        ("torch.zeros(3, pin_memory=flag)", "tensor @cpu"),
        ("torch.zeros(3, pin_memory=False)", "tensor @cpu"),
        ("t.cuda().detach().cpu().numpy()", "ndarray"),
        ("unknown.cpu().detach()", "tensor @cpu"),
        ("torch.argmax(unknown.get(t).cpu().detach(), 1)", "tensor @cpu integer"),
        ("t.sum().detach()", "tensor @cpu scalar"),
        ("abs(t)", "tensor @cpu"),
        ("sum([t, t])", "tensor @cpu"),
        ("sum([t, t], 0)", "tensor @cpu"),
        ("sum([])", "unknown"),
        ("max(3, 4)", "number"),
        ("sum(x for x in [t])", "tensor @cpu"),
        ("max(t.sum(), 1)", "tensor @cpu scalar or number"),
        ("max(t)", "tensor @cpu"),
        ("t if a else None", "tensor @cpu or none"),
        ("t if a else 0", "tensor @cpu or number"),
        ("t if a else 'x'", "tensor? @cpu or str"),
        ("t if a else unknown", "tensor? @cpu or unknown"),
        ("t or unknown", "tensor? @cpu or unknown"),
        ("t if a else t.cuda()", "tensor @accelerator"),
        ("{'a': t}", "dict{a: tensor @cpu}"),
        ("{'a': t}['a']", "tensor @cpu"),
        ("{'a': t, 'b': 1}['b']", "number = 1"),
        ("{1: t}[1]", "tensor @cpu"),
        ("[t, t]", "list(tensor @cpu, tensor @cpu)"),
        ("[t, 1][0]", "tensor @cpu"),
        ("[t, 1][-1]", "number = 1"),
        ("[t, 1][5]", "unknown"),
        ("[t for _ in range(3)][0]", "tensor @cpu"),
        ("(t, 1)[0]", "tensor @cpu"),
        ("(*x, t)", "tuple[tensor? @cpu or unknown]"),
        ("(t, t)[i]", "tensor @cpu"),
        ("(t, t)[:1]", "tuple(tensor @cpu, tensor @cpu)"),
        ("[t] + [t]", "list[tensor @cpu]"),
        ("(t,) + (1,)", "tuple(tensor @cpu, number = 1)"),
        ("[t] * 3", "list[tensor @cpu]"),
        ("3 * [t]", "list[tensor @cpu]"),
        ("len(t) * [0]", "list[number]"),
        ("[1] * len(t) * model(t)", "list[number]"),
        ("[1, 2] * model(t)", "tensor? grad"),
        ("unknown * [t]", "unknown"),
        ("np.zeros(3) * [1, 2, 3]", "ndarray"),
        ("[t for t in t]", "list[tensor @cpu]"),
        ("{k: t for k in 'ab'}", "dict[tensor @cpu]"),
        ("(y := t)", "tensor @cpu"),
        ("next(iter([t]))", "tensor @cpu"),
        ("list(zip([t], [1]))[0]", "tuple(tensor @cpu, number = 1)"),
        ("list(zip(*t.topk(3)))[0]", "tuple(tensor @cpu, tensor @cpu integer)"),
        ("list(zip(*[(t, 1)]))[0]", "list[tensor @cpu]"),
        ("zip(*names)", "unknown"),
        ("zip(*names, t)", "unknown"),
        ("dict(a=t)['a']", "tensor @cpu"),
        ("dict(a=t)['b']", "unknown"),
        ("dict(a=t, b=t.cuda())[name]", "tensor @accelerator"),
        ("dict(a=t, b=1)[name]", "tensor @cpu or number"),
        ("dict(a=t).get(name)", "tensor @cpu"),
        ("dict()[name]", "unknown"),
        ("dict([('a', t), ('b', t)])[name]", "tensor @cpu"),
        ("dict([('a', t)], b=1)[name]", "tensor @cpu or number"),
        ("dict([('a', t)], b=1)['b']", "number = 1"),
        ("dict([('a', t, 1)])[name]", "unknown"),
        ("dict(unknown)[name]", "unknown"),
        ("dict({'a': t}, b=1)['a']", "tensor @cpu"),
        ("dict({'a': t})[name]", "tensor @cpu"),
        ("dict(zip(names, t))['a']", "tensor @cpu"),
        ("dict({k: t for k in names}, b=t.cuda())[name]", "tensor @accelerator"),
        ("dict(enumerate([t]))[0]", "tensor @cpu"),
        ("from collections import OrderedDict\nOrderedDict((k, t) for k in names)['a']", "tensor @cpu"),
        ("from collections import OrderedDict\nOrderedDict({'a': t}).values()", "list[tensor @cpu]"),
        ("d = {}\nd['a'] = t\nd[name]", "tensor @cpu"),
        ("d = {}\nd['a'] = t\nd['b'] = f(x)\nd[name]", "tensor? @cpu or unknown"),
        ("d = {}\nd['a'] = t\nd['b']", "unknown"),
        ("d = {}\nd['a'] = {'x': t}\nd['b'] = {'x': 1}\nd[name]['x']", "tensor @cpu or number"),
        ("getattr(unknown, 'x', t)", "tensor @cpu"),
        ("getattr(unknown, name)", "unknown"),
        ("class A:\n    def __init__(self):\n        self.x = 1\ngetattr(A(), 'x', t)", "tensor @cpu or number"),
        ("class A:\n    def __init__(self):\n        self.x = 1\ngetattr(A(), 'y', t)", "tensor? @cpu or unknown"),
        ("class A:\n    def __init__(self):\n        self.x = 1\ngetattr(A(), 'x', None)", "unknown"),
        ("tuple([t, 1])[0]", "tensor @cpu"),
        ("set([t, t])", "list[tensor @cpu]"),
        ("list(t)", "list[tensor @cpu]"),
        ("out = list()\nout.append(t)\nout[0]", "tensor @cpu"),
        ("filter(f, [t])", "list[tensor @cpu]"),
        ("filter(*x)", "unknown"),
        ("await t", "tensor @cpu"),
        ("ids = []\nids += unknown(x)\nids", "list"),
    ],
)
def test_what_is_made_of_a_tensor(value_of: ValueOf, code: str, expected: str) -> None:
    if "await" in code:
        code = f"async def f():\n    {code}"
    assert expected == value_of(f"t = torch.zeros(3)\n{code}")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("pad = lambda x: x.unsqueeze(0)\nx = load()\nx", "unknown"),
        ("pad = lambda x: (x.size(0), lambda y: x.device)\nx = load()\nx", "unknown"),
        ("y = load()\npad = lambda x: lambda z: y.unsqueeze(0)\ny", "tensor"),
        ("x = load()\npad = lambda x=x.unsqueeze(0): x\nx", "tensor"),
    ],
)
def test_what_a_lambda_shows_of_names_around_it(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(code)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = load()\nx.any(axis=1)", "unknown"),
        ("x = load()\nx.any(dim='time')", "unknown"),
        ("x = load()\nx.float()\nx", "unknown"),
        ("x = load()\nx.float().eval()\nx", "unknown"),
        ("x = load()\nx.float(1).sum()\nx", "unknown"),
        ("x = load()\nx.any(dim=1)", "tensor boolean"),
        ("x = load()\nx.mean(dim=(-1, -2))", "tensor"),
        ("(load() > 0).any(axis=1)", "unknown"),
        ("(load() > 0).any(dim=1)", "tensor boolean"),
        ("x = load()\nx.float().sum()", "tensor scalar"),
        ("load().half().max()", "tensor scalar"),
    ],
)
def test_what_is_cast_or_reduced_as_only_tensors_are_is_one(value_of: ValueOf, code: str, expected: str) -> None:
    assert value_of(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a, b = (m.to('cuda') for m in (nn.Linear(1, 1), torch.zeros(3)))\na", "module torch.nn.Linear @accelerator"),
        ("a, b = [m.to('cuda').half() for m in (nn.Linear(1, 1), torch.zeros(3))]\nb", "tensor @accelerator"),
        ("a, b = (m.to('cuda') for m in (t, 1) if m)\nb", "unknown"),
        ("import collections\nd = collections.deque(maxlen=3)\nd", "list"),
        ("import collections\nd = collections.deque([torch.zeros(3)], 3)\nd", "list[tensor @cpu]"),
        ("import collections\nd = collections.deque([torch.zeros(3)], maxlen=3)\nd[0]", "tensor @cpu"),
    ],
)
def test_what_is_unpacked_of_a_comprehension_or_kept_by_a_deque(value_of: ValueOf, code: str, expected: str) -> None:
    assert value_of(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("ops = load()\ny = ops.sigmoid(x)\nops", "unknown"),
        ("x = load()\ny = x.sigmoid()\nx", "tensor"),
        ("x = load()\ny = x.unsqueeze(0)\n[x for x in found][0]", "unknown"),
        ("x = load()\ny = x.unsqueeze(0)\n[x['score'] for x in found if x['label']][0]", "unknown"),
        ("x = load()\ny = x.unsqueeze(0)\n{i: x for i, x in enumerate(found)}['a']", "unknown"),
        ("x = load()\ny = [x.unsqueeze(0) for x in found]\nx", "unknown"),
        ("x = load()\ny = [(i, x.unsqueeze(0)) for i, x in found]\nx", "unknown"),
        ("x = load()\ny = [x for x in x.unsqueeze(0)]\nx", "tensor"),
        ("x = load()\ny = [x.unsqueeze(0) for z in found]\nx", "tensor"),
        ("[(x, x.unsqueeze(0)) for x in found if x is not None][0][0]", "tensor"),
        ("[z for x in found for z in x if x.unsqueeze(0)][0]", "tensor"),
        ("[(x.y, x.y.unsqueeze(0)) for x in found][0][0]", "tensor"),
    ],
)
def test_what_a_comprehension_shows_of_its_own_names(value_of: ValueOf, code: str, expected: str) -> None:
    assert value_of(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("random.sample(unknown, 3)", "list[unknown]"),
        ("random.sample(range(5), 3)", "list[number]"),
        ("random.choices([t, t], k=2)", "list[tensor @cpu]"),
        ("random.choice([t, t])", "tensor @cpu"),
        ("random.choice([1, 2])", "number"),
        ("random.choice('ab')", "str"),
        ("random.choice(unknown)", "unknown"),
        ("random.shuffle([t])", "none"),
        ("random.getstate()", "unknown"),
        ("random.uniform(0, 1)", "number"),
        ("time.time()", "number"),
        ("time.strftime('%H')", "str"),
        ("time.localtime()", "unknown"),
    ],
)
def test_what_is_drawn_and_timed(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(f"import random\nimport time\nt = torch.zeros(3)\n{code}")


# Statements


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = y = torch.zeros(3)\nx", "tensor @cpu"),
        ("x: torch.Tensor = load()\nx", "tensor"),
        ("x: int\nx", "number"),
        ("x: int = torch.zeros(3)\nx", "tensor @cpu"),
        ("x = 0\nx += torch.zeros(3).sum()\nx", "tensor @cpu scalar"),
        ("x = 1\nx += 2\nx", "number = 3"),
        ("a, b = torch.max(x, 1)\nb", "tensor integer"),
        ("a, *b = torch.split(x, 2)\na", "tensor"),
        ("(a, b), c = (torch.zeros(3), 1), 2\na", "tensor @cpu"),
        ("a = b = 0\na, b = b, torch.zeros(3)\nb", "tensor @cpu"),
        ("a, b = torch.zeros(3), *y\na", "tensor @cpu"),
        ("x = torch.zeros(3)\ndel x\nx", "unknown"),
        ("x = torch.zeros(3)\nx = other\nx", "unknown"),
        ("d = {}\nd['a'] = torch.zeros(3)\nd['a']", "tensor @cpu"),
        ("d = {}\nd[key] = torch.zeros(3)\nd[other]", "tensor @cpu"),
        ("l = [None]\nl[0] = torch.zeros(3)\nl[i]", "tensor @cpu or none"),
        ("l = []\nl.append(torch.zeros(3))\nl[0]", "tensor @cpu"),
        ("l = [1]\nl.append(torch.zeros(3))\nl[i]", "tensor @cpu or number"),
        ("l = []\nl.extend([torch.zeros(3)])\nl.pop()", "tensor @cpu"),
        ("l = [1, 2]\nl.copy()", "list(number = 1, number = 2)"),
        ("l = [1, 2]\nl.index(1)", "number"),
        ("d = {'a': 1}\nd.update(b=torch.zeros(3))\nd['b']", "tensor @cpu"),
        ("d = {'a': 1}\nd.update({'b': 2})\nd.get('b')", "number = 2"),
        ("d = {'a': 1}\nd.setdefault('b', 2)\nd['b']", "number = 2"),
        ("d = {'a': 1}\nd.setdefault('a', 2)\nd['a']", "number = 1"),
        ("d = {'a': torch.zeros(3)}\nd.update(b=1)[0] += 1\nd['a']", "tensor @cpu"),
        ("l = [torch.zeros(3)]\nl.append(torch.zeros(3))[0].n += 1\nl[0]", "tensor @cpu"),
        ("d = {'a': 1}\n[v for k, v in d.items()]", "list[number = 1]"),
        ("d = {'a': 1}\n[k for k in d]", "list[str]"),
        ("d = {'a': 1}\nlist(d.values())", "list[number = 1]"),
        ("d = {'a': 1}\nlist(d.keys())", "list[str]"),
        ("{**{'a': 1}, 'b': 2}", "dict{a: number = 1, b: number = 2}"),
        ("[v for v in {**{k: torch.zeros(3) for k in names}, **{'a': torch.ones(2)}}.values()]", "list[tensor @cpu]"),
        ("[v for v in {**net(x), 'a': 1}.values()]", "list[tensor? grad or number]"),
        ("[v for v in {**other, 'a': 1}.values()]", "list[number? = 1 or unknown]"),
        ("'a b'.split()", "list[str]"),
        ("'a'.upper()", "str"),
        ("'abc'[0]", "str"),
        ("x.y = torch.zeros(3)\nx.y", "tensor @cpu"),
        ("x.y = torch.zeros(3)\nx = other\nx.y", "unknown"),
        ("f().y = 1\nf().y", "unknown"),
        ("for i in range(3):\n    pass\ni", "number"),
        ("from tqdm import trange\nfor i in trange(3):\n    pass\ni", "number"),
        ("for layer in nn.Sequential(*layers):\n    layer", "module?"),
        ("for c in 'abc':\n    c", "str"),
        ("for a in np.zeros(3):\n    a", "ndarray or number"),
        ("a, *b = torch.split(x, 2)\nb", "list[tensor]"),
        # What is moved as a whole and taken apart is more than a tensor.
        (
            "loader = DataLoader(d)\nfor n, adj in loader:\n    i, _, size = adj.cuda()\nsize",
            "tensor @accelerator unpinned or tuple",
        ),
        (
            "loader = DataLoader(d)\nfor n, adj in loader:\n    i, _, size = adj.cuda()\nsize[1]",
            "tensor @accelerator unpinned or tuple",
        ),
        ("a, b = torch.zeros(2)\nb", "tensor @cpu"),
        ("[*a, b] = torch.zeros(3)\na", "list[tensor @cpu]"),
        ("for i, x in enumerate([torch.zeros(3)]):\n    pass\nx", "tensor @cpu"),
        ("for x in torch.zeros(3):\n    x", "tensor @cpu"),
        ("for a, b in zip([1], [torch.zeros(3)]):\n    b", "tensor @cpu"),
        # A loop's second round knows what the first left behind.
        ("x = None\nfor i in y:\n    z = x\n    x = torch.zeros(3)\nz", "tensor @cpu or none"),
        ("x = 0\nwhile a:\n    x = x + torch.zeros(3).sum()\nx", "tensor @cpu scalar or number"),
        ("if a:\n    x = torch.zeros(3)\nelse:\n    x = None\nx", "tensor @cpu or none"),
        ("if a:\n    x = torch.zeros(3)\nx", "tensor @cpu"),
        ("def f():\n    x = 1\n    if a:\n        x = 'a'\n        return\n    x", "number = 1"),
        ("def f():\n    if a:\n        x = 1\n    else:\n        x = 'a'\n        raise E from e\n    x", "number = 1"),
        ("for i in y:\n    if a:\n        x = 1\n        continue\n    else:\n        x = 'a'\n    x", "str = 'a'"),
        ("try:\n    x = 1\nexcept E:\n    x = None\nx", "number or none"),
        ("try:\n    x = 1\nexcept E:\n    raise\nx", "number = 1"),
        ("try:\n    x = 1\nfinally:\n    y = 2\ny", "number = 2"),
        ("match a:\n    case 1 if b:\n        x = 1\n    case _:\n        x = 'a'\nx", "unknown"),
        ("match a:\n    case 1 if (y := torch.zeros(3)).sum():\n        y", "tensor @cpu"),
        ("match a:\n    case 1:\n        x = 1\n    case 2 if (y := torch.zeros(3)).sum():\n        y", "tensor @cpu"),
        ("d = {'a': 1}\nd.copy()['a']", "number = 1"),
        ("d = {'a': 1}\nd.a", "unknown"),
        ("d = {'a': 1}\nd.update(other)", "none"),
        ("l = []\nl.pop()", "unknown"),
        ("with torch.no_grad() as x:\n    pass\nx", "context"),
        ("class A:\n    x = 1\nA", "class"),
        ("@d\nclass A(B, m=1):\n    def f(self): pass\n    x = 1\n    x", "number = 1"),
        ("def f(): pass\nf", "function"),
        ("def f():\n    def g(): pass\n    g", "function"),
        ("def f(x):\n    n = torch.tensor(0)\n    for y in x:\n        n += (y != 3).sum()\n    n", "tensor @cpu"),
        ("def f(a):\n    n = torch.zeros(3) if a else 3\n    n // 2", "tensor @cpu or number"),
        ("def f(a):\n    n = torch.zeros(3) if a else 3\n    n // torch.ones(2)", "tensor @cpu"),
        # What is no method of a tensor was called on none.
        ("torch.zeros(3).startswith('a')", "unknown"),
        ("def f(x):\n    y = x.unsqueeze(0)\n    x.has('a')", "unknown"),
        # What makes words tensors is on the host, and gives several by name.
        ("tokenizer(text, return_tensors='np')", "unknown"),
        ("processor(image, return_tensors='pt', device=device)", "unknown"),
        ("tokenizer(text)", "unknown"),
        ("tokenizer(text, return_tensors='pt')", "batch? @cpu"),
        ("tokenizer(text, return_tensors='pt').input_ids.view(-1)", "tensor @cpu"),
        ("tokenizer(text, return_tensors='pt').to('cuda')['input_ids']", "tensor? @accelerator"),
        # A capital makes a module, and calling that runs it.
        ("Net(16)", "module?"),
        ("x.Encoder(16)", "module?"),
        ("Net(16)(x)", "tensor? grad"),
        ("net(x)", "tensor? grad"),
        ("netD(x)", "tensor? grad"),
        ("rebuild_model(x)", "tensor? grad"),
        ("build_model(16)", "module?"),
        ("task.build_model(16)", "module?"),
        ("get_model('a')", "module?"),
        ("config.get_network('a')", "module?"),
        ("get_model_name('a')", "unknown"),
        ("target_model(x)", "tensor? grad"),
        ("thing = make()\nthing.eval()\nthing", "module?"),
        ("thing = make()\nthing.eval()\nthing(x)", "tensor? grad"),
        ("thing = make()\nthing.eval('a + b')\nthing", "unknown"),
        ("thing = {}\nthing.eval()\nthing", "dict"),
        ("thing = make()\nother.eval()\nthing", "unknown"),
        ("load_model('a').encoder(x)", "tensor? grad"),
        (
            "def f(x):\n    y = torch.zeros(3) if x else x.a\n    y.b = y.c.byte()\n    (y if x else x.d).byte()",
            "tensor @cpu integer",
        ),
        ("trainer.accelerator.gather(x)", "tensor? @accelerator"),
        # What a test tells inside.
        ("def f(x):\n    if isinstance(x, torch.Tensor):\n        x", "tensor or unknown"),
        ("def f(x):\n    if not torch.is_tensor(x):\n        return\n    x", "tensor or unknown"),
        ("def f(x):\n    if torch.is_tensor(x) and a:\n        x", "tensor or unknown"),
        ("def f(x):\n    if torch.is_tensor(x) or a:\n        x", "unknown"),
        ("def f(x):\n    x = torch.zeros(3)\n    if not torch.is_tensor(x):\n        x", "unknown"),
        ("def f(x):\n    if isinstance(x[0], torch.Tensor):\n        x", "unknown"),
        ("def f(x):\n    if type(x) == torch.Tensor:\n        x", "tensor or unknown"),
        ("def f(x):\n    if type(x) is torch.Tensor:\n        x", "tensor or unknown"),
        ("def f(x):\n    if type(x) is not torch.Tensor:\n        return\n    x", "tensor or unknown"),
        ("def f(x):\n    if type(x) != torch.Tensor:\n        x", "unknown"),
        ("def f(x):\n    if type(x) == type(y):\n        x", "unknown"),
        ("def f(x):\n    assert isinstance(x, torch.Tensor), type(x)\n    x", "tensor or unknown"),
        ("def f(x):\n    assert not isinstance(x, torch.Tensor)\n    x[:, 0]", "unknown"),
        ("def f(x):\n    assert isinstance(x, torch.Tensor) or y\n    x", "unknown"),
        ("def f(x):\n    if isinstance(x, int):\n        x", "number"),
        ("def f():\n    x = [torch.zeros(3)]\n    if isinstance(x, (tuple, list)):\n        x[0]", "tensor @cpu"),
        ("def f():\n    x = [torch.zeros(3)]\n    if isinstance(x, tuple):\n        x[0]", "tensor @cpu"),
        ("def f(x):\n    if isinstance(x, tuple):\n        x[0]", "unknown"),
        ("def f(x):\n    if isinstance(x, (int, float)):\n        x\n    y = x.unsqueeze(0)", "number"),
        ("def f(x):\n    if isinstance(x, (int, torch.Tensor)):\n        x", "unknown"),
        ("def f(x):\n    if not isinstance(x, int):\n        x", "unknown"),
        ("def f(x):\n    if isinstance(x, str):\n        x", "str"),
        ("def f(x):\n    if isinstance(x, (list, tuple)):\n        x", "unknown"),
        ("def f(x):\n    if isinstance(x, Unknown):\n        x", "unknown"),
        ("def f(x: torch.Tensor | float):\n    if isinstance(x, float):\n        return\n    x", "tensor"),
        ("def f(x: torch.Tensor):\n    if isinstance(x, nn.Parameter):\n        x", "tensor parameter"),
        ("def f(x: torch.Tensor):\n    if not isinstance(x, nn.Parameter):\n        x", "tensor"),
        ("def f(x: float):\n    if isinstance(x, int):\n        return\n    x", "number"),
        ("def f(x):\n    x = [1]\n    if isinstance(x, list):\n        x", "list(number = 1)"),
        ("class A: pass\ndef f(x):\n    if isinstance(x, A):\n        x", "instance example.A"),
        # What a module is given is known in its forward: tensors, numbers and words, for collections may change.
        (f"net = Net()\nnet(torch.ones(2).cuda())\n{FORWARD}", "tensor @accelerator"),
        (f"self.net = Net()\nself.net(torch.ones(2).cuda().sum())\n{FORWARD}", "tensor @accelerator scalar"),
        (f"net = Net()\nnet(torch.ones(2))\nnet(torch.ones(2).cuda())\n{FORWARD}", "tensor @accelerator"),
        (f"net = Net()\nnet(2)\n{FORWARD}", "number = 2"),
        (f"net = Net()\nnet([torch.ones(2)])\n{FORWARD}", "tensor?"),
        (f"net = Net()\nnet(y)\n{FORWARD}", "tensor?"),
        (f"net = Other()\nnet(2)\n{FORWARD}", "tensor?"),
        (f"{LOADER}net = Net()\nfor x in loader:\n    net(x)\n{FORWARD}", "tensor?"),
        # What an engine or an accelerator runs backward is a loss.
        ("def f(x, loss):\n    x.backward(loss)\n    loss", "tensor scalar"),
        ("def f(x, loss):\n    x.backward(loss, y)\n    loss", "tensor? scalar"),
        ("def f(x, batch):\n    x.backward(batch)\n    batch", "unknown"),
        ("def f(x, losses):\n    x.backward(losses)\n    losses", "unknown"),
        # What subclasses define stands in for what their base lacks, but for those that replace the method that asks.
        (
            "class B(A):\n    def g(self): return torch.zeros(3)\nclass A:\n    def f(self):\n        self.g()",
            "tensor @cpu",
        ),
        (
            (
                "class B(A):\n    def g(self): return torch.zeros(3)\nclass C(A):\n    def g(self): return 1\n"
                "class A:\n    def f(self):\n        self.g()"
            ),
            "tensor @cpu or number",
        ),
        (
            (
                "class B(A):\n    def g(self): return torch.zeros(3)\nclass C(A):\n    def g(self): return 1\n"
                "    def f(self): pass\nclass A:\n    def f(self):\n        self.g()"
            ),
            "tensor @cpu",
        ),
        (
            (
                "class B(A):\n    def g(self): return torch.zeros(3)\nclass C(A):\n    def g(self): return 1\n"
                "    def f(self): return super().f()\nclass A:\n    def f(self):\n        self.g()"
            ),
            "tensor @cpu or number",
        ),
        ("class B(A):\n    def g(self): return torch.zeros(3)\nclass A: pass\nA().g()", "unknown"),
        # A function that is a default is called where nobody is seen to give another one.
        ("def g(): return torch.zeros(3)\ndef f(h=g):\n    h()", "tensor @cpu"),
        ("f(h=torch.rand_like)\ndef g(): return torch.zeros(3)\ndef f(h=g):\n    h", "name torch.rand_like"),
        ("def f(h=torch.zeros):\n    h(3)", "tensor @cpu"),
        ("def g(): return torch.zeros(3)\ndef f(h=None):\n    h()", "unknown"),
        ("def g(): return 1\ndef f(g=g):\n    g()", "unknown"),
        ("def f(h=a.b):\n    h()", "unknown"),
        ("class A: pass\ndef f(x: A):\n    if not isinstance(x, A):\n        x", "instance example.A"),
        # And in the rest of the same expression.
        ("def f(x: nn.Module):\n    if not isinstance(x, nn.Module):\n        x", "unknown"),
        ("def f(x: nn.Linear):\n    if not isinstance(x, nn.Linear):\n        x", "unknown"),
        ("def f(x: nn.Module):\n    if not isinstance(x, nn.DataParallel):\n        x", "module torch.nn.Module"),
        (
            "def f(x: nn.Module):\n    if not isinstance(x, (nn.DataParallel, nn.Linear)):\n        x",
            "module torch.nn.Module",
        ),
        ("def f(x):\n    x if isinstance(x, int) else 2.0", "number"),
        ("def f(x):\n    x if not isinstance(x, int) else 2.0", "number? = 2.0 or unknown"),
        ("def f(x):\n    2.0 if not isinstance(x, int) else x", "number"),
        ("def f(x):\n    isinstance(x, int) and x", "number"),
        ("def f(x):\n    isinstance(x, int) or x", "number? or unknown"),
        ("def f(x):\n    a and isinstance(x, int) and (b or x + 1)", "number? or unknown"),
        ("def f(x):\n    not isinstance(x, int) or x", "number"),
        ("def f(x):\n    [y for y in x if isinstance(y, int)]", "list[number]"),
        ("def f(x):\n    z = x if isinstance(x, int) else 2\n    x", "unknown"),
        ("def f(x):\n    z = isinstance(x, int) and x\n    x", "unknown"),
        ("def f(x):\n    z = isinstance(x, str) and (x := 1)\n    x", "number = 1"),
        ("def f(x):\n    [y for y in x if isinstance(y, int)]\n    y", "unknown"),
        # What it said is forgotten behind it, where a path without it leads there as well.
        ("def f(x: torch.Tensor):\n    if isinstance(x, int):\n        pass\n    x", "tensor"),
        ("def f(x: torch.Tensor):\n    if isinstance(x, A) or isinstance(x, int):\n        y = 1\n    x", "tensor"),
        ("def f(x):\n    for y in x:\n        assert isinstance(x, int)\n    x", "unknown"),
        ("def f(x):\n    if not isinstance(x, int):\n        raise E\n    x", "number"),
        ("def f(x):\n    if not isinstance(x, int):\n        x = 3.0\n    x", "number"),
        # What a caller gives counts where the function does not set a parameter.
        ("def f(device):\n    if device is None:\n        device = torch.device('cpu')\n    device", "device?"),
        ("def f(x):\n    if a:\n        x = torch.zeros(3)\n    x", "tensor? @cpu or unknown"),
        ("def f(x: torch.Tensor):\n    if a:\n        x = x.cpu()\n    x", "tensor"),
        ("def f(x: torch.Tensor):\n    if cfg.NUM_GPUS > 0:\n        x = x.detach().cpu()\n    x", "tensor @cpu"),
        ("def f(x: torch.Tensor):\n    if torch.cuda.is_available():\n        x = x.cpu()\n    x", "tensor @cpu"),
        ("def f(x: torch.Tensor):\n    y = x.detach().cpu() if cfg.NUM_GPUS else x.detach()\n    y", "tensor @cpu"),
        ("def f(x: torch.Tensor, y: torch.Tensor):\n    z = x.cpu() if use_gpu else y\n    z", "tensor"),
        ("def f(x: torch.Tensor):\n    y = x.cpu() if verbose else x\n    y", "tensor"),
        ("def f(x: torch.Tensor):\n    if not use_cuda:\n        x = x.cpu()\n    x", "tensor"),
        ("def f(x: torch.Tensor, y: torch.Tensor):\n    if use_cuda:\n        x = y.cpu()\n    x", "tensor"),
        ("x = torch.zeros(3).cuda()\nif use_cuda:\n    x = x.cpu()\nelse:\n    x = x + 1\nx", "tensor @accelerator"),
        ("def f(x: torch.Tensor):\n    if x is not None:\n        x = x.cpu()\n    x", "tensor @cpu or none"),
        ("def f(x: torch.Tensor):\n    if x is None:\n        x = torch.zeros(3)\n    x", "tensor"),
        # What is a list on one path is no tensor on the other, whatever is done to a tensor of that name elsewhere.
        (
            "def f(x, a):\n    x.unsqueeze(0)\n    x = torch.zeros(3).numpy().tolist()\n    if a:\n        x = a(x)\n    x",
            "list?[number] or unknown",
        ),
        ("def f(x):\n    for i in y:\n        z = x\n        x = torch.zeros(3)\n    z", "tensor? @cpu or unknown"),
        (
            "def f(args):\n    if args.device is None:\n        args.device = torch.device('cpu')\n    args.device",
            "device",
        ),
        # An inner loop's second round, too, where the outer loop begins anew.
        (
            "for a in y:\n    x = None\n    for b in a:\n        z = x\n        x = torch.zeros(3)\nz",
            "tensor @cpu or none",
        ),
        ("for a in y:\n    x = 0\n    for b in a:\n        x = b.unsqueeze(0)\n        z = x\nz", "tensor"),
    ],
)
def test_statements(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(code)


# Parameters and annotations


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ("x", "unknown"),
        ("x=1", "number?"),
        ("x=0.5", "number?"),
        ("x=True", "unknown"),
        ("x=None", "unknown"),
        ("x: Unknown", "unknown"),
        ("x: 'not an (annotation'", "unknown"),
        ("x: int | str", "unknown"),
        ("x: torch.Tensor", "tensor"),
        ("x: 'torch.Tensor'", "tensor"),
        ("x: torch.Tensor | None", "tensor"),
        ("x: None | torch.Tensor", "tensor"),
        ("x: torch.Tensor | torch.FloatTensor", "tensor"),
        ("x: Optional[torch.Tensor]", "tensor"),
        ("x: Union[torch.device, str]", "device"),
        ("x: Optional[Union[str, torch.device]]", "device"),
        ("x: torch.device | str | None", "device"),
        ("x: Union[int, None]", "number"),
        ("x: Union[int, str]", "unknown"),
        ("x: Union[torch.Tensor, Unknown]", "unknown"),
        ("x: Union[list, torch.Tensor]", "tensor? or list"),
        ("x: tuple[()]", "tuple()"),
        ("x: Literal[()]", "unknown"),
        ("x: Float[torch.Tensor, 'batch dim']", "tensor"),
        ("x: int", "number"),
        ("x: float = None", "number"),
        ("x: str", "str"),
        ("x: None", "none"),
        ("x: np.ndarray", "ndarray"),
        ("x: torch.device", "device"),
        ("x: torch.dtype", "dtype"),
        ("x: nn.Module", "module torch.nn.Module"),
        ("x: nn.Linear", "module torch.nn.Linear"),
        ("x: torch.optim.Optimizer", "optimizer"),
        ("x: torch.optim.lr_scheduler.LRScheduler", "unknown"),
        ("x: DataLoader", "loader"),
        ("x: DataLoader[int]", "loader"),
        ("x: list[torch.Tensor]", "list[tensor]"),
        ("state_steps: list[torch.Tensor], x=1", "number?"),
        ("x: Iterable[torch.Tensor]", "list[tensor]"),
        ("x: tuple[torch.Tensor, int]", "tuple(tensor, number)"),
        ("x: tuple[torch.Tensor, ...]", "list[tensor]"),
        ("x: dict[str, torch.Tensor]", "dict[tensor]"),
        ("x: Model", "instance example.Model"),
        ("x: accelerate.Accelerator", "accelerator accelerate.Accelerator"),
        ("*x", "tuple"),
        ("**x", "dict"),
    ],
)
def test_parameters(value_of: ValueOf, parameter: str, expected: str) -> None:
    assert expected == value_of(f"import accelerate\nclass Model: pass\ndef f({parameter}):\n    x")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("value", "unknown"),
        ("models", "unknown"),
        ("modelled", "unknown"),
        ("loading", "unknown"),
        ("options", "unknown"),
        ("devices", "unknown"),
        ("model", "module?"),
        ("criterion", "module?"),
        ("q_network", "module?"),
        ("netG", "module?"),
        ("train_loader", "loader?[batch? batch]"),
        ("loader", "loader?[batch? batch]"),
        ("dataloader_train", "loader?[batch? batch]"),
        ("optimizer", "optimizer?"),
        ("critic_optimizer", "optimizer?"),
        ("device", "device?"),
        ("accelerator", "accelerator?"),
        ("loss", "tensor? scalar"),
        ("logits", "tensor?"),
        ("state_steps", "list[tensor @cpu]"),
    ],
)
def test_names_of_parameters(value_of: ValueOf, name: str, expected: str) -> None:
    assert expected == value_of(f"def f({name}):\n    {name}")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        # What only a tensor can do makes it one.
        ("def f(x):\n    x.unsqueeze(0)\n    x", "tensor"),
        ("def f(x):\n    x.backward()\n    x", "tensor"),
        ("def f(x):\n    x.backward(y)\n    x", "unknown"),
        ("def f(x):\n    x.mean()\n    x", "unknown"),
        ("def f(x):\n    x.y.detach()\n    x.y", "tensor"),
        ("def f(self):\n    self.detach()\n    self", "unknown"),
        # An array is viewed as another dtype, and there is no `long` but that of tensors.
        ("def f(x):\n    x.view(np.uint8)\n    x", "unknown"),
        ("def f(x):\n    x.view(kind, type)\n    x", "unknown"),
        ("def f(x):\n    x.view('i4')\n    x", "unknown"),
        ("def f(x):\n    x.long(True)\n    x", "unknown"),
        ("def f(x):\n    x.view(n)\n    x", "unknown"),
        ("def f(x):\n    x.view(True)\n    x", "unknown"),
        ("x['a'].view(n)", "unknown"),
        ("def f(x):\n    x.view(-1)\n    x", "tensor"),
        ("def f(x):\n    x.view(n, 3)\n    x", "tensor"),
        ("def f(x):\n    x.view(a, b, c)\n    x", "tensor"),
        ("def f(x):\n    x.long()\n    x", "tensor"),
        ("x['a'].view(-1, n)", "tensor"),
        ("x['a'].long()", "tensor integer"),
        ("def f(x):\n    x.detach().cpu().numpy()", "ndarray"),
        ("x = 3\nx.detach()\nx", "number = 3"),
        ("unknown.item()", "number"),
        ("unknown.size(0)", "number"),
        ("unknown.detach()", "tensor"),
        ("unknown.to('cuda')", "unknown @accelerator"),
        ("unknown.to(a).to(b)", "unknown"),
        (
            "class A:\n    def __init__(self, x):\n        self.x = x.cuda()\n    def f(self):\n        self.x",
            "unknown @accelerator",
        ),
        ("class A:\n    def __init__(self, x):\n        self.x = x\n    def f(self):\n        self.x", "unknown"),
        ("unknown.state_dict()", "dict?"),
        ("unknown.parameters()", "list[tensor parameter]"),
        ("unknown.prepare(model, loader)", "tuple(unknown, unknown)"),
        # Names of models and losses.
        ("model(x)", "tensor? grad"),
        ("self.model(x)", "tensor? grad"),
        ("criterion(a, b)", "tensor? grad"),
        ("models(x)", "unknown"),
        ("output.loss", "tensor? scalar grad"),
        ("model(x).logits", "tensor? grad"),
        ("[v for k, v in model(x).items()][0]", "tensor? grad"),
        ("list(model(x).values())[0]", "tensor? grad"),
        ("model(x).loss", "tensor? scalar grad"),
        ("model(x).other", "unknown"),
        ("self.device", "device"),
        ("args.device", "device"),
        ("dev", "device?"),
        ("params", "unknown"),
    ],
)
def test_what_uses_and_names_suggest(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(code)


# Modules


NET = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.rnn = nn.LSTM(3, 3)
        self.drop = None
        self.head: nn.Module = make()
        self.register_buffer('mean', torch.zeros(3))
        self.scale = nn.Parameter(torch.ones(3))
        self.width = 3
    def forward(self, x, mask=None, size=1):
        {here}
        return self.fc(x), 1
    def plain(self, x):
        return x + 1
    @property
    def total(self):
        return self.scale.sum()
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("self", "module example.Net"),
        ("x", "tensor?"),
        ("mask", "tensor?"),
        ("size", "number = 1"),
        ("self.fc", "module torch.nn.Linear"),
        ("self.fc(x)", "tensor grad"),
        ("self.fc.weight", "tensor parameter"),
        ("self.rnn(x)", "tuple(tensor grad, unknown)"),
        ("self.mean", "tensor parameter"),
        ("self.scale", "tensor parameter"),
        ("self.scale * x", "tensor"),
        ("self.width", "number = 3"),
        ("self.drop", "none"),
        ("self.total", "tensor scalar"),
        ("self.plain", "function"),
        ("self.training", "number"),
        ("self.missing", "unknown"),
        ("self.parameters()", "list[tensor parameter]"),
        ("self.named_parameters()", "list[tuple(str, tensor parameter)]"),
        ("self.buffers()", "list[tensor]"),
        ("self.named_buffers()", "list[tuple(str, tensor)]"),
        ("self.modules()", "list[module?]"),
        ("self.named_children()", "list[tuple(str, module?)]"),
        ("self.state_dict()", "dict[tensor]"),
        ("self.get_parameter('x')", "tensor parameter"),
        ("self.zero_grad()", "none"),
        ("self.half()", "module example.Net"),
    ],
)
def test_inside_a_module(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(NET.format(here=code))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("Net", "class"),
        ("Net()", "module example.Net"),
        ("Net().to('cuda')", "module example.Net @accelerator"),
        ("net = Net()\nnet.cuda()\nnet", "module example.Net @accelerator"),
        ("net = Net()\nnet.cuda()\nnet.cpu()\nnet", "module example.Net @cpu"),
        ("Net()(x)", "tuple(tensor grad, number = 1)"),
        ("Net().cuda()(x)", "tuple(tensor @accelerator grad, number = 1)"),
        ("Net().cuda().forward(x)", "tuple(tensor @accelerator grad, number = 1)"),
        ("Net().cuda().fc", "module torch.nn.Linear @accelerator"),
        ("Net().cuda().fc(x)", "tensor @accelerator grad"),
        ("torch.compile(Net())", "module example.Net compiled"),
        ("torch.compile(f)", "function? compiled"),
        ("nn.DataParallel(Net())", "module example.Net"),
        ("nn.DataParallel(net)", "module?"),
        ("nn.DataParallel(Net()).module", "module example.Net"),
        ("nn.Linear(3, 3, device='cuda')", "module torch.nn.Linear @accelerator"),
        ("nn.MSELoss()(x, y)", "tensor scalar grad"),
        ("nn.MSELoss(reduction='none')(x, y)", "tensor grad"),
        ("nn.MultiheadAttention(3, 3)(x, x, x)", "tuple(tensor grad, tensor grad)"),
        ("nn.Sequential(nn.Linear(3, 3), nn.ReLU())[0]", "module torch.nn.Linear"),
        ("nn.Sequential(nn.Linear(3, 3), nn.ReLU())(x)", "tensor grad"),
        ("nn.Sequential(*layers)[0]", "module?"),
        ("nn.ModuleList([Net() for _ in range(3)])[i]", "module example.Net"),
        ("[block for block in nn.ModuleList([Net()])]", "list[module example.Net]"),
        ("nn.ModuleList([Net(), Net()])[1:]", "module(module example.Net, module example.Net) torch.nn.ModuleList"),
        ("nn.ModuleDict({'a': Net()})['a']", "module example.Net"),
        ("nn.ModuleDict({'a': Net()}).a", "module example.Net"),
        ("nn.ModuleDict({'a': Net()})['b']", "module?"),
        ("list(nn.ModuleDict({'a': Net()}).values())", "list[module example.Net]"),
        ("list(nn.ModuleDict({'a': Net()}).items())", "list[tuple(str, module example.Net)]"),
        ("nn.ModuleList([Net(), nn.ReLU()])[i]", "module"),
        ("[p for p in nn.ParameterList([x, y])]", "list[tensor parameter]"),
        ("import torchvision\ntorchvision.models.resnet18()", "module torchvision.models.resnet18"),
        ("import torchvision\ntorchvision.models.resnet18().cuda()(x)", "tensor? @accelerator grad"),
        ("import timm\ntimm.create_model('x')", "module timm.create_model"),
        ("from transformers import AutoModel\nAutoModel.from_pretrained('x')", "module transformers.AutoModel"),
        ("from transformers import AutoTokenizer\nAutoTokenizer.from_pretrained('x')", "unknown"),
        ("from diffusers import DDPMScheduler\nDDPMScheduler.from_pretrained('x')", "scheduler?"),
        ("from transformers import get_cosine_schedule as g\ng(o)", "scheduler"),
        ("import copy\ncopy.deepcopy(Net())", "module example.Net"),
        ("import copy\ncopy.deepcopy(options['size'])", "unknown"),
        ("options['device']", "device"),
        ("import copy\ncopy.deepcopy(torch.device('cuda'))", "device @accelerator"),
        ("import copy\ncopy.deepcopy(whatever)", "module?"),
        ("net = Net()\nnet.eval()(x)", "tuple(tensor grad, number = 1)"),
    ],
)
def test_around_a_module(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(NET.format(here="pass") + code)


# Optimizers, loaders, batches


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("torch.optim.Adam(p)", "optimizer torch.optim.Adam"),
        ("torch.optim.lr_scheduler.StepLR(o, 1)", "scheduler"),
        ("torch.optim.Adam(p).param_groups", "list[dict{params: list[tensor parameter], lr: number}]"),
        ("torch.optim.Adam(p).param_groups[0]['lr']", "number"),
        ("torch.optim.Adam(p).step()", "unknown"),
        ("torch.amp.GradScaler()", "scaler"),
        ("torch.amp.GradScaler().scale(torch.zeros(3).sum())", "tensor @cpu scalar"),
        ("torch.amp.GradScaler().scale(x)", "tensor?"),
        ("d = torch.device('cpu')\nif flag:\n    d = x.get_device()\ntorch.zeros(3).to(d)", "tensor"),
        ("d = 'cpu'\nif flag:\n    d = x.get_device()\ntorch.zeros(3).to(d)", "tensor"),
        ("TensorDataset(x)", "dataset"),
        ("torch.utils.data.random_split(d, [1])", "unknown"),
        ("TensorDataset(torch.zeros(3), torch.ones(3))", "dataset @cpu"),
        ("TensorDataset(torch.zeros(3), torch.ones(3).cuda())", "dataset @accelerator"),
        ("torch.utils.data.random_split(TensorDataset(torch.zeros(3)), [1])", "list[dataset @cpu]"),
        (
            "torch.utils.data.ConcatDataset([TensorDataset(torch.zeros(3).cuda()), TensorDataset(torch.ones(3).cuda())])",
            "dataset @accelerator",
        ),
        (
            "torch.utils.data.ConcatDataset([TensorDataset(torch.zeros(3).cuda()), TensorDataset(torch.ones(3))])",
            "dataset",
        ),
        ("DataLoader(TensorDataset(torch.zeros(3).cuda()))", "loader[batch @accelerator unpinned batch] unpinned"),
        ("DataLoader(TensorDataset(torch.zeros(3).cuda()), pin_memory=True)", "loader[batch @cpu pinned batch] pinned"),
        ("import torchvision\ntorchvision.datasets.MNIST('.')", "dataset"),
        ("DataLoader(d)", "loader[batch @cpu unpinned batch] unpinned"),
        ("DataLoader(d, pin_memory=True)", "loader[batch @cpu pinned batch] pinned"),
        ("DataLoader(d, pin_memory=flag)", "loader[batch @cpu batch]"),
        ("DataLoader(d, **options)", "loader[batch @cpu batch]"),
        ("DataLoader(d, **{'pin_memory': True})", "loader[batch @cpu pinned batch] pinned"),
        (
            "options = {}\nif a:\n    options['pin_memory'] = True\nDataLoader(d, **options)",
            "loader[batch @cpu pinned batch] pinned",
        ),
        ("DataLoader(d, 1, True, None, None, 0, None, True)", "loader[batch @cpu pinned batch] pinned"),
        ("len(DataLoader(d))", "number"),
        ("next(iter(DataLoader(d)))", "batch @cpu unpinned batch"),
        ("for batch in DataLoader(d):\n    batch", "batch @cpu unpinned batch"),
        ("for i, (x, y) in enumerate(DataLoader(d)):\n    x", "tensor @cpu unpinned batch"),
        ("for x, y in DataLoader(d, pin_memory=True):\n    x[1, :, 2:]", "tensor @cpu pinned batch"),
        ("for x, y in DataLoader(d, pin_memory=True):\n    x[y > 0]", "tensor @cpu batch"),
        ("for x, y in DataLoader(d, pin_memory=True):\n    x[:, [2, 1, 0]]", "tensor @cpu batch"),
        (
            "for batch in DataLoader(d, pin_memory=True):\n    for key in batch:\n        batch[key]",
            "tensor @cpu pinned batch",
        ),
        ("for batch in DataLoader(d):\n    batch['x']", "tensor @cpu unpinned batch"),
        ("for batch in DataLoader(d):\n    batch.x", "tensor @cpu unpinned batch"),
        ("for batch in DataLoader(d):\n    batch.to('cuda')", "batch @accelerator unpinned"),
        ("for x, y in DataLoader(d):\n    x.to('cuda')", "tensor @accelerator unpinned"),
        ("for x, y in DataLoader(d):\n    x = x.cuda()\n    x.sum().item()", "number"),
        ("from tqdm import tqdm\nfor x, y in tqdm(DataLoader(d)):\n    x", "tensor @cpu unpinned batch"),
        ("for batch in DataLoader(d):\n    [v for k, v in batch.items()]", "list[tensor @cpu unpinned batch]"),
        (
            "for b in DataLoader(d):\n    b = {k: v.cuda() for k, v in b.items()}\n    b['x']",
            "tensor @accelerator unpinned",
        ),
        ("for batch in DataLoader(d):\n    list(batch.keys())", "list[str]"),
        ("for batch in DataLoader(d):\n    batch.pop('x')", "tensor @cpu unpinned batch"),
        ("for batch in DataLoader(d):\n    list(batch.values())", "list[tensor @cpu unpinned batch]"),
        ("for batch in DataLoader(d):\n    batch.size(0)", "number"),
        ("for batch in DataLoader(d):\n    batch.unknown()", "unknown"),
        ("for batch in loader:\n    batch", "batch? batch"),
        ("for x, y in loader:\n    x[:, 0]", "tensor? batch"),
        ("for x in bars(loader):\n    x = x.to('cuda')\n    x[:, 0]", "tensor @accelerator"),
        ("for x in bars(loader):\n    x = x.to('cuda')\n    x[0]", "tensor? @accelerator"),
        ("for i, batch in enumerate(loader):\n    batch", "batch? batch"),
        ("for x, y in loader:\n    x", "tensor? batch"),
        ("for x in loaders_of_things:\n    x", "unknown"),
    ],
)
def test_training_parts(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(code)


ACCELERATE = """\
from accelerate import Accelerator
accelerator = Accelerator()
model, loader, other = accelerator.prepare(nn.Linear(3, 3), DataLoader(d, pin_memory=True), thing)
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("accelerator", "accelerator accelerate.Accelerator"),
        ("accelerator.device", "device @accelerator"),
        ("model", "module torch.nn.Linear @accelerator"),
        ("loader", "loader[batch @accelerator pinned managed] @accelerator pinned managed"),
        ("for x, y in loader:\n    x", "tensor @accelerator pinned managed"),
        ("other", "unknown"),
        ("accelerator.prepare(loader)", "loader[batch @accelerator pinned managed] @accelerator pinned managed"),
        ("accelerator.gather(x)", "tensor? @accelerator"),
        ("accelerator.gather(torch.zeros(3))", "tensor @accelerator"),
        ("accelerator.clip_grad_norm_(p, 1)", "tensor @accelerator scalar"),
        ("accelerator.accumulate(model)", "context"),
        ("accelerator.unwrap_model(model)", "module torch.nn.Linear @accelerator"),
        ("accelerator.something()", "unknown"),
        # One alone is no tuple: what it holds is taken apart.
        ("(a,) = accelerator.prepare(nn.Linear(3, 3))\na", "module?"),
        (
            "def swap(*given): return 1, 2\naccelerator.prepare = swap\na, b = accelerator.prepare(model, x)\na",
            "number = 1",
        ),
        ("a, b = accelerator.prepare(nn.Linear(3, 3), *rest)\na", "module?"),
    ],
)
def test_accelerate(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(ACCELERATE + code)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("torch.device('cpu')", "device @cpu"),
        ("torch.device('cuda', 0)", "device @accelerator"),
        ("torch.device(name)", "device"),
        ("torch.device(0)", "device @accelerator"),
        ("torch.device('cuda' if torch.cuda.is_available() else 'cpu')", "device @accelerator"),
        ("'cuda' if torch.cuda.is_available() else 'cpu'", "device @accelerator"),
        ("torch.device('cuda') if a else 'cpu'", "device @accelerator"),
        ("f'cuda:{rank}'", "str @accelerator"),
        ("f'{name}:0'", "str"),
        ("'name:' + str(rank)", "str"),
        ("'cuda' + suffix", "str"),
        ("'%s:0' % name", "str"),
        ("'cuda:' + str(rank)", "str @accelerator"),
        ("'cuda:%d' % rank", "str @accelerator"),
        ("torch.device('cuda:{}'.format(rank))", "device @accelerator"),
        ("torch.accelerator.current_accelerator()", "device @accelerator"),
        ("device", "device?"),
        ("'cpu' if a else 'other'", "str"),
    ],
)
def test_devices(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(code)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("class Net(nn.Module):\n    def validation_step(self, x, i):\n        i", "unknown"),
        ("class Net(nn.Module):\n    def shared(self, x):\n        x", "unknown"),
        ("class Net:\n    def validation_step(self, x, i):\n        x", "unknown"),
        ("class Net(nn.Module):\n    def validation_step(self, x, i):\n        x", "batch? @accelerator managed"),
        ("class Net(L.LightningModule):\n    def test_step(self, x):\n        x[0]", "tensor? @accelerator managed"),
    ],
)
def test_batches_that_a_framework_gives(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(code)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("nn.LSTM(3, 4).bias", "number"),
        ("nn.GRUCell(3, 4).bias", "number"),
        ("nn.Linear(3, 4).bias", "tensor parameter"),
        ("class A(nn.RNNBase):\n    pass\nclass B(A):\n    def f(self):\n        return self.bias\nB().f()", "number"),
        ("class A(nn.LSTM):\n    pass\nA().bias", "number"),
        ("class A(nn.Linear):\n    pass\nA(1, 2).bias", "tensor parameter"),
        ("class A(nn.LSTM):\n    def __init__(self):\n        self.bias = torch.zeros(3)\nA().bias", "tensor @cpu"),
    ],
)
def test_bias_of_recurrent_layers_is_a_switch(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(code)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def _f(x: torch.Tensor):\n    x\n_f(torch.zeros(3).cpu())", "tensor @cpu"),
        ("def f(x: torch.Tensor):\n    x\nf(torch.zeros(3).cpu())", "tensor @cpu"),
        (
            "def f(x: torch.Tensor):\n    x\nd = {}\nfor k in ks:\n    d[k] = unknown(k)[0].cpu()\n    f(d[k])",
            "tensor @cpu",
        ),
        ("def f(x: torch.Tensor):\n    x\nf(unknown(k)[0])", "tensor"),
        ("def _f(x: torch.Tensor):\n    x\n_f(y)", "tensor"),
        ("def _f(x: torch.Tensor):\n    x\nfor batch in DataLoader(d): _f(batch['x'])", "tensor"),
        ("def _f(x: torch.Tensor):\n    x\n_f(y)\n_f(torch.zeros(3))", "tensor"),
        ("def _f(x: torch.Tensor):\n    x\n_f(torch.zeros(3).cuda())\n_f(torch.zeros(3))", "tensor"),
        ("def _f(x: torch.Tensor):\n    x", "tensor"),
    ],
)
def test_what_is_annotated_lives_where_its_callers_have_it(value_of: ValueOf, code: str, expected: str) -> None:
    lines = code.splitlines()

    assert expected == value_of("\n".join([*lines[2:], *lines[:2]]))


# Functions


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f():\n    return torch.zeros(3)\nf()", "tensor @cpu"),
        ("def f(x):\n    if x:\n        return None\n    return torch.zeros(3)\nf(1)", "tensor @cpu or none"),
        ("def f():\n    pass\nf()", "unknown"),
        ("def f():\n    return\nf()", "none"),
        # An annotation speaks where the paths disagree.
        (
            "def f(net: nn.Module) -> int:\n    if net.training:\n        return net.count(3)\n    return 0\nf(nn.Linear(1, 1))",
            "number",
        ),
        ("def f() -> float:\n    return torch.zeros(3).sum()\nf()", "tensor @cpu scalar"),
        ("def f():\n    yield torch.zeros(3)\nf()", "list[tensor @cpu]"),
        ("def f():\n    yield torch.zeros(3)\nfor x in f():\n    x", "tensor @cpu"),
        ("async def f():\n    return torch.zeros(3)\nf()", "unknown"),
        ("def f(n):\n    return n * f(n - 1) if n else torch.zeros(3)\nf(3)", "tensor? @cpu"),
        ("def f(x):\n    return x\nf(torch.zeros(3))", "tensor @cpu"),
        ("f(torch.zeros(3))\ndef f(x):\n    x", "tensor @cpu"),
        ("f(torch.zeros(3))\nf(None)\ndef f(x):\n    x", "tensor @cpu or none"),
        ("f(torch.zeros(3))\nf('a')\ndef f(x):\n    x", "tensor? @cpu or str"),
        ("f(1, x='a')\ndef f(a, *, x=1):\n    x", "str = 'a'"),
        ("f(*args)\ndef f(a, x):\n    x", "unknown"),
        ("def f():\n    x = torch.zeros(3)\n    def g():\n        x", "tensor @cpu"),
        ("def f(x: torch.Tensor):\n    def g():\n        x", "tensor"),
        ("def f(x, model):\n    def g():\n        model", "module?"),
        ("def f(x):\n    def g():\n        def h():\n            g", "function"),
        ("x = torch.zeros(3)\ndef f():\n    x", "tensor @cpu"),
        ("class A:\n    def f(self):\n        return torch.zeros(3)\nA().f()", "tensor @cpu"),
        ("class A:\n    @staticmethod\n    def f():\n        return torch.zeros(3)\nA.f()", "tensor @cpu"),
        ("class A:\n    @classmethod\n    def f(cls):\n        cls", "class"),
        ("class A:\n    def __next__(self):\n        return torch.zeros(3)\nfor x in A():\n    x", "tensor @cpu"),
        ("class A:\n    size = 3\n    def f(self):\n        self.size", "number = 3"),
        (f"{OPERATORS}a = A()\na += 1\na", "instance example.A"),
        (f"{OPERATORS}A() + torch.zeros(3)", "instance example.A"),
        (f"{OPERATORS}A() * t", "tensor @accelerator"),
        (f"{OPERATORS}torch.zeros(3) - A()", "tensor @cpu"),
        (f"{OPERATORS}A() - 1", "unknown"),
        (f"{OPERATORS}class B(A): pass\nB() + 1", "instance example.B"),
        ("class A:\n    def __iadd__(self, x):\n        return 1\na = A()\na += 2\na", "number = 1"),
        ("class A:\n    def __iadd__(self, x):\n        return 1\nA() + 2", "unknown"),
        ("class A:\n    size: int\n    def f(self):\n        self.size", "number"),
        ("class A:\n    size: Unknown\n    def f(self):\n        self.size", "unknown"),
        ("class A:\n    x: torch.Tensor = None\n    def f(self):\n        self.x", "tensor or none"),
        ("class A:\n    x: Optional[torch.Tensor] = None\ndef f() -> A: pass\nf().x", "tensor or none"),
        ("import functools\nfunctools.partial(torch.zeros(3))", "tensor @cpu"),
        ("from einops import rearrange\nrearrange(torch.zeros(3), 'a -> a 1')", "tensor @cpu"),
        ("from einops import rearrange\nrearrange(x, 'a -> a 1')", "unknown"),
        ("import einops\neinops.parse_shape(torch.zeros(3).cuda(), 'a')", "dict[number]"),
        ("from einops import parse_shape\nparse_shape(x, 'a b')['a']", "number"),
        ("from einops import parse_shape\nparse_shape(x, 'a b').get('a')", "number"),
        ("from einops import unpack\nunpack(torch.zeros(3).cuda(), sizes, '* a')", "list[tensor @accelerator]"),
        ("from einops import asnumpy\nasnumpy(torch.zeros(3).cuda())", "ndarray"),
        ("import outside\noutside.f(1)", "unknown"),
        ("import outside\noutside.f", "name outside.f"),
        ("relu = F.relu\nrelu(x)", "tensor"),
        ("zeros = torch.zeros\nzeros(3)", "tensor @cpu"),
        ("fs = {'a': torch.zeros}\nfs['a'](3)", "tensor @cpu"),
        ("(lambda: 1)()", "unknown"),
        ("(lambda x: x)(torch.zeros(3))", "tensor @cpu"),
        ("(lambda x: y)(torch.zeros(3))", "unknown"),
        ("(lambda x, y: x)(torch.zeros(3), 1)", "unknown"),
        ("(lambda x: x.view(x.size(0), -1).cuda())(torch.zeros(3))", "tensor @accelerator"),
        ("(lambda x: x.detach().cpu().numpy())(torch.zeros(3))", "ndarray"),
        ("(lambda x: x.cpu())(x)", "unknown"),
        ("(lambda x: y.cpu())(torch.zeros(3))", "unknown"),
        ("(lambda x: x + 1)(torch.zeros(3))", "unknown"),
        ("torch.zeros(3).size() + (3,)", "size[number]"),
        (
            f"{LOADER}wrap = (lambda x: tqdm(x)) if a else (lambda x: x)\nwrap(loader)",
            "loader[batch @cpu unpinned batch] unpinned",
        ),
        (f"{LOADER}(lambda x: thing(x))(loader)", "unknown"),
        # Named tuples
        ("from collections import namedtuple\nD = namedtuple('D', 'a b')\nD(1, torch.zeros(3)).b", "tensor @cpu"),
        (
            "from collections import namedtuple\nD = namedtuple('D', 'a b')\na, b = D(1, b=torch.zeros(3))\nb",
            "tensor @cpu",
        ),
        ("from collections import namedtuple\nD = namedtuple('D', ['a', 'b'])\nD(1, 2)[0]", "number = 1"),
        ("from collections import namedtuple\nD = namedtuple('D', 'a b')\nD(1).b", "unknown"),
        ("from collections import namedtuple\nD = namedtuple('D', 'a b')\nD(*x)", "tuple"),
        ("from collections import namedtuple\nD = namedtuple('D', fields)\nD(1, 2)", "unknown"),
        ("from typing import NamedTuple\nD = NamedTuple('D', [('a', int)])\nD(1).a", "number = 1"),
        ("np.mean([1.0, 2.0])", "number"),
        ("np.max(x)", "number"),
        ("np.mean(x, axis=0)", "ndarray"),
        ("np.mean(x, 0)", "ndarray"),
        ("np.mean(*x)", "ndarray"),
        # Arrays have rows and columns, too.
        ("def f(x):\n    y = torch.zeros(3) if x else x.numpy()\n    return y[:, 0]\nf(1)", "tensor? @cpu or ndarray"),
        ("def f(x):\n    y = torch.zeros(3) if x else x.thing\n    return y[:, 0]\nf(1)", "tensor @cpu"),
        ("y = torch.zeros(3) if x else x.numpy()\ny[:, 0]\ny", "tensor? @cpu or ndarray"),
        ("y = torch.zeros(3) if x else x.numpy()\ny[:, 0] * y[:, 1]", "tensor? @cpu or ndarray"),
        ("y = torch.zeros(3) if x else x.numpy()\ny * np.zeros(3)", "tensor? @cpu or ndarray"),
        ("y = torch.zeros(3) if x else x.numpy()\ny / 2", "tensor? @cpu or ndarray"),
        ("y = torch.zeros(3) if x else x.numpy()\ny + torch.zeros(3)", "tensor @cpu"),
        ("y = torch.zeros(3) if x else x.numpy()\ny + other", "tensor? @cpu"),
        # One of several functions
        ("f = torch.zeros if a else torch.ones\nf(3)", "tensor @cpu"),
        ("f = torch.zeros if a else (lambda n: n)\nf(3)", "unknown"),
        ("f = torch.zeros\nif a:\n    f = len\nf(x)", "tensor @cpu or number"),
        ("fs = {'a': torch.zeros, 'b': torch.rand}\nfs[a](3)", "tensor @cpu"),
        (
            "def f():\n    return torch.zeros(3)\ndef g():\n    return None\nh = f if a else g\nh()",
            "tensor @cpu or none",
        ),
        (
            "class A:\n    def __init__(self, a):\n        self.f = torch.zeros if a else len\n    def g(self):\n        self.f(3)",
            "tensor @cpu or number",
        ),
        # What a function says that it returns counts where it is not known.
        ("def f(x) -> torch.Tensor:\n    return x.thing\nf(1)", "tensor"),
        (
            "def f(x) -> torch.Tensor:\n    if x:\n        return x.thing\n    return torch.zeros(3)\nf(1)",
            "tensor @cpu",
        ),
        (
            "def f(x) -> Optional[torch.Tensor]:\n    if x:\n        return torch.zeros(3)\n    return None\nf(1)",
            "tensor @cpu or none",
        ),
        ("def f(x) -> tuple[torch.Tensor, int]:\n    return x.thing\nf(1)", "tuple(tensor, number)"),
        ("def f(x) -> nn.Module:\n    return x.thing\nf(1)", "module torch.nn.Module"),
        *(
            (f"{classes}def f(net: nn.Module, x):\n    return net.{name}(x)\nf(g(), 1)", expected)
            for classes, name, expected in (
                ("class A(nn.Module):\n    def pick(self, x):\n        return torch.ones(2)\n", "pick", "tensor @cpu"),
                ("class A(nn.Module):\n    def pick(self, x):\n        return torch.ones(2)\n", "other", "unknown"),
                ("class A(nn.Module):\n    def pick(self, x):\n        return x.thing\n", "pick", "unknown"),
                (
                    "".join(
                        f"class {one}(nn.Module):\n    def pick(self, x):\n        return torch.ones(2)\n"
                        for one in "AB"
                    ),
                    "pick",
                    "unknown",
                ),
                ("class A:\n    def pick(self, x):\n        return torch.ones(2)\n", "pick", "unknown"),
                ("class A(nn.Module):\n    def pick(self, x):\n        raise NotImplementedError\n", "pick", "unknown"),
                (
                    (
                        "class A(nn.Module):\n    def pick(self, x):\n        return torch.ones(2)\n"
                        "class B:\n    def pick(self, x):\n        return 1\n"
                    ),
                    "pick",
                    "unknown",
                ),
                (
                    (
                        "class A(nn.Module):\n    def pick(self, x):\n        return torch.ones(2)\n"
                        "class B(A):\n    def pick(self, x):\n        return 1\n"
                    ),
                    "pick",
                    "tensor @cpu or number",
                ),
                (
                    "class A(nn.Module):\n    def eval(self, x):\n        return torch.ones(2)\n",
                    "eval",
                    "module torch.nn.Module",
                ),
                (
                    "class A(nn.Module):\n    def parameters(self, x):\n        return 1\n",
                    "parameters",
                    "list[tensor parameter]",
                ),
            )
        ),
        ("def f(x) -> list[torch.Tensor]:\n    return x.thing\nf(1)", "unknown"),
        ("def f(x) -> torch.Tensor:\n    return None\nf(1)", "none"),
        # Generators that hand on what they are given
        (
            f"{LOADER}def f(a, b):\n    for x in b:\n        yield x\nf(1, b=loader)",
            "loader[batch @cpu unpinned batch] unpinned",
        ),
        (
            f"{LOADER}def f(b):\n    for x in b:\n        yield x\nf(unknown)\nf(loader)",
            "loader[batch @cpu unpinned batch] unpinned",
        ),
        (
            f"{LOADER}def f(b):\n    for x in b:\n        yield x\n    yield 1\nf(loader)",
            "list[unknown]",
        ),
        (
            f"{LOADER}def f(b):\n    for x in b:\n        x = x.thing\n        yield x\nf(loader)",
            "list[tensor @cpu unpinned batch]",
        ),
        (f"{LOADER}def f(b):\n    b = b.thing\n    for x in b:\n        yield x\nf(loader)", "list[unknown]"),
        (f"{LOADER}def f(b):\n    for i, x in enumerate(b):\n        yield i\nf(loader)", "list[number]"),
        (f"{LOADER}def f(b):\n    for i, x in pairs(b):\n        yield x\nf(loader)", "list[unknown]"),
        (
            f"{LOADER}def f(b):\n    r = iter(b)\n    yield next(r)\n    r = g(b)\nf(loader)",
            "list[batch @cpu unpinned batch]",
        ),
        (
            f"{LOADER}def f(b):\n    for i, x in enumerate(b):\n        yield x\nf(loader)",
            "loader[batch @cpu unpinned batch] unpinned",
        ),
        (
            f"{LOADER}def f(b):\n    r = iter(b)\n    while True:\n        yield next(r)\nf(loader)",
            "loader[batch @cpu unpinned batch] unpinned",
        ),
        (
            f"{LOADER}def f(b):\n    r = b.__iter__()\n    yield r.__next__()\n    r = b.__iter__()\nf(loader)",
            "loader[batch @cpu unpinned batch] unpinned",
        ),
    ],
)
def test_functions(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(code)


BOTH = "    if not isinstance(a, torch.Tensor):\n        a = torch.tensor(a)\n    return a.unsqueeze(0).abs()\n"


@pytest.mark.parametrize(
    "code, expected",
    [
        (f"def f(a):\n{BOTH}f(g.encode(x))", "tensor or unknown"),
        (f"def f(a: torch.Tensor):\n{BOTH}f(g.encode(x))", "tensor or unknown"),
        (f"def f(a):\n{BOTH}f(torch.zeros(3).cuda())", "tensor @accelerator"),
        (f"def f(a):\n{BOTH.replace('a.unsqueeze(0)', 'a.grad')}f(g.encode(x))", "tensor"),
        ("def f(a: torch.Tensor):\n    assert isinstance(a, torch.Tensor)\n    return a.abs()\nf(x)", "tensor"),
        ("def f(a: torch.Tensor):\n    a = torch.as_tensor(a)\n    return a.abs()\nf(x)", "tensor"),
    ],
)
def test_what_is_made_of_what_only_a_test_tells_of_may_live_anywhere(
    value_of: ValueOf, code: str, expected: str
) -> None:
    assert expected == value_of(code)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        # Where there is an accelerator it is fetched from there, and else it lies on the host already.
        ("x = net(x.cuda())\nif args.cuda:\n    x = x.cpu()\nx", "cpu"),
        ("x = net(x.cuda())\nif cfg.NUM_GPUS:\n    x = x.cpu()\nx", "cpu"),
        ("x = net(x.cuda())\nif torch.cuda.is_available():\n    x = x.cpu()\nx", "cpu"),
        ("x = net(x.cuda())\nx = x.cpu() if args.use_gpu else x\nx", "cpu"),
        ("x = net(x.cuda())\nx = x.cpu() if args.keep else x\nx", "accelerator"),
        ("x = net(x.cuda())\nif args.keep:\n    x = x.cpu()\nx", "accelerator"),
        ("x = net(x.cuda())\nif cfg.NUM_GPUS > 1:\n    x = x.cpu()\nx", "accelerator"),
        ("x = net(x.cuda())\nif args.cuda:\n    x = x * 2\nx", "accelerator"),
        ("x = torch.ones(2)\nif args.cuda:\n    x = x.cuda()\nx", "accelerator"),
    ],
)
def test_what_a_program_fetches_where_there_is_an_accelerator(
    value_of: Callable[[str], str], code: str, expected: str
) -> None:
    assert f"@{expected}" in value_of(f"net = torch.nn.Linear(2, 2).cuda()\nx = torch.rand(2)\n{code}")
