"""Whole scripts that do the same before and after their fixes, though much in them looks like what a fix must not touch."""

from __future__ import annotations

SAFE = {
    "clone detach hook": r"""
import torch
seen = []
x = torch.ones(2, requires_grad=True)
y = (x * 2).clone().detach()
y.requires_grad_()
y.register_hook(lambda g: seen.append(g.tolist()))
y.sum().backward()
print(seen, x.grad, y.is_leaf)
""",
    "clone detach walrus": r"""
import torch
x = torch.arange(4.0)
print((y := x + 1).clone().detach().add_(1).tolist(), y.tolist())
z = (x if x.sum() > 0 else -x).clone().detach()
z += 1
print(x.tolist(), z.tolist(), (lambda t: t)(x).clone().detach().tolist())
""",
    "autocast import alias": r"""
import torch
from torch.cuda.amp import autocast as ac
import torch.cuda.amp as amp
def f(enabled=True):
    with ac(enabled=False), amp.autocast(enabled=False):
        return torch.ones(1).dtype
print(f(), ac.__name__)
class A:
    autocast = amp.autocast
    def g(self):
        with self.autocast(enabled=False):
            return 1
print(A().g())
""",
    "autocast decorator": r"""
import torch
from torch.cuda.amp import autocast
@autocast(enabled=False)
def f(x):
    return x + 1
@torch.cuda.amp.autocast(False)
def g(x): return x
print(f(torch.ones(1)), g(torch.ones(1)))
ctx = autocast
with ctx(False): print("in")
""",
    "autocast shadow": r"""
import torch as T
from torch.cuda.amp import autocast
def f(torch):
    with autocast(False):
        return torch
print(f(3))
def g():
    with autocast(enabled=False): pass
    T = 3
    return T
print(g())
""",
    "meshgrid star": r"""
import torch
axes = [torch.arange(2), torch.arange(3)]
a, b = torch.meshgrid(*axes)
c = torch.meshgrid(axes)
d = torch.meshgrid(axes[0], axes[1])[1]
kw = {"indexing": "xy"}
e = torch.meshgrid(*axes, **kw)[0]
print(a.shape, b.shape, len(c), d.shape, e.shape)
""",
    "checkpoint kwargs": r"""
import torch, warnings
warnings.simplefilter("ignore")
from torch.utils.checkpoint import checkpoint
def f(x, scale=2, use_reentrant=None): return x * scale
x = torch.ones(2, requires_grad=True)
kw = {"use_reentrant": False}
print(checkpoint(f, x).sum().item(), checkpoint(f, x, **kw).sum().item())
args = (x, 3)
y = checkpoint(f, *args)
y.sum().backward()
print(x.grad.tolist())
try:
    print(checkpoint(f, x, scale=3))
except ValueError as e: print(type(e))
""",
    "checkpoint seq": r"""
import torch, warnings
warnings.simplefilter("ignore")
from torch.utils import checkpoint as cp
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
x = torch.ones(1, 2, requires_grad=True)
print(cp.checkpoint_sequential(net, 2, x).shape, cp.checkpoint_sequential(net, input=x, segments=1).shape)
""",
    "create move": r"""
import torch
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(3))
    def forward(self, x):
        a = torch.zeros(3).to(x.device)
        b = torch.arange(3).to(x.device)
        c = torch.ones(2, 3).t().to(x.device)
        d = torch.full((3,), 2).to(x.device)
        e = torch.eye(3).unsqueeze(0).to(x.device)
        f = torch.zeros(3, dtype=torch.long).to(self.w.device)
        g = torch.arange(3.0).to(x.device)
        h = torch.zeros(*x.shape).to(x.device)
        i = torch.empty(0).to(x.device)
        j = torch.ones(3).expand(2, 3).to(x.device)
        return [(t.dtype, tuple(t.shape), t.stride(), t.requires_grad) for t in (a, b, c, d, e, f, g, h, i, j)]
for row in M()(torch.ones(3)): print(row)
with torch.device("meta"):
    print([r[0] for r in M()(torch.ones(3))])
""",
    "create move default dtype": r"""
import torch
def f(x):
    return torch.zeros(2).to(x.device), torch.full((2,), 1.5).to(x.device), torch.tensor([1.0]).to(x.device)
torch.set_default_dtype(torch.float64)
class M(torch.nn.Module):
    def forward(self, x):
        y = torch.ones(2).half().to(x.device)
        return [t.dtype for t in f(x)] + [y.dtype]
print(M()(torch.ones(1)))
""",
    "legacy ctor": r"""
import torch
a = torch.FloatTensor([1, 2])
b = torch.LongTensor([[1], [2]]).view(-1)
c = torch.ByteTensor([1, 0])
d = torch.BoolTensor([True, False])
e = torch.DoubleTensor([0.1])
f = torch.IntTensor(2).shape
g = torch.HalfTensor([1e5])
h = torch.CharTensor([-1])
i = torch.ShortTensor([])
print(a, b, c, d, e, f, g, h, i.dtype)
try: print(torch.LongTensor([1.5]))
except TypeError as x: print("TypeError")
try: print(torch.ByteTensor([300]))
except Exception as x: print(type(x).__name__)
try: print(torch.IntTensor([2 ** 40]))
except Exception as x: print(type(x).__name__)
print(torch.FloatTensor([True, 1]), torch.LongTensor([[1, 2], [3, 4]])[0], torch.FloatTensor([float("nan")]))
try: print(torch.FloatTensor([[1], [2, 3]]))
except Exception as x: print(type(x).__name__)
""",
    "legacy ctor ctx": r"""
import torch
with torch.device("meta"):
    print(torch.FloatTensor([1.0]).device)
with torch.inference_mode():
    print(torch.FloatTensor([1.0]).is_inference())
torch.set_default_dtype(torch.float64)
print(torch.FloatTensor([1.0]).dtype, (-torch.FloatTensor([1.0])).dtype)
with torch.autocast("cpu"):
    print(torch.FloatTensor([1.0]).dtype)
""",
    "legacy int range": r"""
import torch
for make in (lambda: torch.LongTensor([2 ** 63]), lambda: torch.IntTensor([-1]), lambda: torch.CharTensor([200]), lambda: torch.ByteTensor([-1]), lambda: torch.HalfTensor([70000]), lambda: torch.FloatTensor([1e40]), lambda: torch.ShortTensor([40000]), lambda: torch.FloatTensor([2 ** 70]), lambda: torch.DoubleTensor([2 ** 2000]), lambda: torch.IntTensor([1.0]), lambda: torch.BoolTensor([2, 0]), lambda: torch.LongTensor([1, 2.5])):
    try: print(make().tolist())
    except Exception as e: print(type(e).__name__)
""",
    "variable": r"""
import torch
from torch.autograd import Variable
x = torch.ones(2)
y = Variable(torch.ones(2) * 2)
z = Variable(torch.from_numpy(__import__("numpy").ones(2)))
z[0] = 5
w = Variable(torch.zeros(2), requires_grad=True)
v = Variable(torch.tensor([1.0])) + 1
print(y, z, w.requires_grad, v, Variable(torch.ones(1), volatile=False) if False else 0, isinstance(x, Variable))
""",
    "linalg check": r"""
import torch
a = torch.eye(2) * 2
print(torch.cholesky(a) if hasattr(torch, "cholesky") else 0)
q, r = torch.qr(a)
u, s, v = torch.svd(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
print(q.shape, r.shape, (u @ torch.diag(s) @ v.t()).round().tolist())
print(torch.norm(a), torch.ger(torch.ones(2), torch.ones(2)), torch.chain_matmul(a, a).tolist())
""",
    "init": r"""
import torch
import torch.nn as nn
import torch.nn.init as I
torch.manual_seed(0)
w = torch.empty(2, 2)
nn.init.xavier_uniform(w); print(w.tolist())
I.constant(w, 2); print(w.tolist())
f = nn.init.kaiming_normal
f(w); print(w.shape)
net = nn.Linear(2, 2)
net.apply(lambda m: nn.init.normal(m.weight, 0, 1)); print(net.weight.shape)
""",
    "private compiler": r"""
import torch, torch._dynamo
@torch._dynamo.disable
def f(x): return x + 1
@torch._dynamo.disable()
def g(x): return x + 2
h = torch._dynamo.disable(lambda x: x, recursive=False)
print(f(1), g(1), h(1), torch._dynamo.is_compiling(), torch._dynamo.config.cache_size_limit)
torch._dynamo.reset()
k = torch._dynamo.allow_in_graph(f)
print(k(1))
""",
    "deprecated attr": r"""
import torch, warnings
warnings.simplefilter("ignore")
x = torch.ones(2, 2)
print(torch.is_autocast_enabled(), torch.get_autocast_gpu_dtype(), torch.get_autocast_cpu_dtype())
try: print(torch.cuda.reset_max_memory_allocated())
except Exception as e: print(type(e).__name__)
from torch.nn.utils import clip_grad_norm_
p = torch.nn.Parameter(torch.ones(2)); p.grad = torch.ones(2)
print(torch.nn.utils.clip_grad_norm([p], 1.0))
print(torch.nn.functional.upsample(torch.ones(1, 1, 2, 2), scale_factor=2).shape)
print(torch.nn.functional.tanh(x).shape, torch.nn.functional.sigmoid(x).shape)
""",
    "conditional names": r"""
import sys
if sys.argv:
    import torch
else:
    torch = None
try:
    from torch.cuda.amp import autocast
except ImportError:
    autocast = None
def f():
    x = torch.ones(2).clone().detach()
    with autocast(enabled=False): return x
print(f())
del autocast
""",
    "comment lines": r"""
import torch
x = torch.ones(2)
y = (
    x  # the input
    .clone()  # a copy
    .detach()  # without history
)
z = torch.FloatTensor(  # numbers
    [1.0,  # one
     2.0]
)
print(y, z)
if x.sum(): w = x.clone().detach(); print(w)
""",
    "unicode tabs": r"""
import torch
def f(x):
	return "é", x.clone().detach(), torch.LongTensor([1])
print(f(torch.ones(1)), f"{torch.ones(1).clone().detach()}")
λ = torch.ones(1); print(λ.clone().detach())
""",
    "lambda default": r"""
import torch
f = lambda x, y=torch.FloatTensor([1.0]): x.clone().float() + y
def g(*, z=torch.zeros(2).clone().detach()): return z
print(f(torch.ones(1)), g(), [t.clone().detach() for t in [torch.ones(1)]], {k: v.clone().float() for k, v in {"a": torch.ones(1)}.items()})
""",
    "match": r"""
import torch
def f(x):
    match x:
        case torch.Tensor() as torch_: return torch_.clone().detach()
        case [a, *rest]: return torch.LongTensor([1])
print(f(torch.ones(1)), f([1, 2]))
""",
    "copies forward": r"""
import torch
import torch.nn as nn
import torch.nn.functional as F
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

class M(nn.Module):
    def forward(self, x, idx):
        a = x.clone().float()
        b = (x > 0).clone().float()
        c = x.t().clone().half()
        d = x.expand(2, 3).clone().double()
        e = x.float().clone()
        f = x.clone().long()
        g = x.clone(memory_format=torch.contiguous_format).half()
        h = x.detach().clone().to(x.device)
        i = x[idx].clone().float()
        j = x.clone().to(torch.float64, non_blocking=True)
        k = x.to(device).to(torch.float16)
        l = x.to(torch.int8).to(device)
        m = x.cpu().clone()
        n = x.clone().cpu().numpy()
        o = x.contiguous().contiguous()
        p = x.clone().type(torch.float16)
        out = [(t.dtype, t.stride(), t.sum().item()) for t in (a, b, c, d, e, f, g, h, i, j, k, l, m, o, p)]
        for t in (a, b, c, d, e, f, g, h, i, j, k, l, m, p): t += 1
        n += 1
        return out, x.sum().item()
m = M().to(device)
for dt in (torch.float32, torch.float64, torch.int32, torch.bool):
    x = torch.ones(2, 3).to(device).to(dt)
    try: print(m(x, [0, 1]))
    except Exception as e: print(type(e).__name__, e)
""",
    "needless forward": r"""
import torch
import torch.nn as nn
import torch.nn.functional as F
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

def same(x): return x
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.id = nn.Identity()
        self.relu = nn.ReLU(inplace=True)
        self.buf = nn.Parameter(torch.ones(3))
    def forward(self, x):
        a = self.id(x).clone(); a += 1
        b = x.view(3).clone(); b += 1
        c = F.dropout(x, 0.5, self.training).clone(); c += 1
        d = x.float().clone(); d += 1
        e = torch.relu(x).clone(); e += 1
        f = self.relu(x * 1).clone(); f += 1
        g = (x + 1).clone(); g *= 2
        h = torch.exp(x).clone(); h *= 2
        i = torch.sigmoid(x).clone().mul_(2)
        j = x.sqrt().clone(); j[0] = 0
        k = torch.cat([x]).clone(); k += 1
        l = torch.softmax(x, 0).clone(); l += 1
        m = self.buf.clone(); m += 1
        n = (x * x).clone().contiguous(); n += 1
        o = x.max(0)[0].clone(); o = o + 1
        p = x.pow(2).clone(); p.zero_()
        q = (x / x).clone(); q.add_(1)
        return (b + d + e + f + g + h + i + j + k + l + m + n + o + p + q).sum()
m = M().to(device).eval()
x = torch.arange(1.0, 4).to(device).requires_grad_()
y = m(x); y.backward()
print(y.item(), x.grad.tolist(), m.buf.grad.tolist(), x.tolist())
with torch.no_grad():
    z = torch.arange(1.0, 4).to(device); print(m(z).item(), z.tolist())
""",
    "needless returned": r"""
import torch
import torch.nn as nn
import torch.nn.functional as F
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

class M(nn.Module):
    def __init__(self):
        super().__init__(); self.last = None
    def forward(self, x):
        y = (x + 1).clone()
        self.last = y
        z = (x * 2).clone().contiguous()
        w = torch.stack([x, x]).clone()
        w[0] = 0
        return y, z, w
m = M().to(device)
a, b, c = m(torch.ones(2, 3).t())
a += 1
print(m.last.tolist(), b.stride(), c.stride(), c.tolist(), a.stride())
""",
    "create in forward": r"""
import torch
import torch.nn as nn
import torch.nn.functional as F
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

class M(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        a = torch.zeros(n, n).to(x.device)
        a[0] = 1
        b = torch.arange(n).unsqueeze(0).repeat(2, 1).to(x.device)
        b[0, 0] = 5
        c = torch.ones(n).cumsum(0).to(x.device)
        d = torch.full((n,), True).to(x.device)
        e = torch.zeros(n).bool().to(x.device)
        f = torch.full([n], float("-inf")).to(x)
        g = torch.arange(n - 1, -1, -1).to(x.device).flip(0)
        h = torch.zeros_like(x[0].cpu()).to(x.device)
        i = torch.eye(n).bool().to(x.device, non_blocking=True)
        j = torch.ones(n, n).tril().to(x.device)
        k = torch.arange(n).view(1, n).expand(3, n).to(x.device)
        l = torch.zeros(1).to(x.device).expand(4)
        m = torch.ones(()).to(x.device)
        o = torch.arange(0, n, 0.5).to(x.device)
        return [(t.dtype, t.shape, t.stride(), t.tolist()) for t in (a, b, c, d, e, f, g, h, i, j, k, l, m, o)]
for dt in (torch.float32, torch.float16):
    for r in M()(torch.ones(3, 3, dtype=dt)): print(r)
with torch.inference_mode(): print(M()(torch.ones(2, 2))[0])
with torch.autocast("cpu", dtype=torch.bfloat16): print(M()(torch.ones(2, 2))[2])
""",
    "create index": r"""
import torch
import torch.nn as nn
import torch.nn.functional as F
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

class Pos(nn.Module):
    def __init__(self):
        super().__init__(); self.emb = nn.Embedding(8, 2)
    def forward(self, ids):
        pos = torch.arange(ids.size(1)).to(ids.device)
        pos = torch.arange(0, ids.size(1), dtype=torch.long).unsqueeze(0).to(device=ids.device)
        typ = torch.zeros(ids.shape, dtype=torch.long).to(ids.device)
        mask = (torch.triu(torch.ones(ids.size(1), ids.size(1))) == 1).to(ids.device)
        neg = torch.zeros(ids.shape).fill_(-1).to(ids.device)
        return self.emb(ids + pos).shape, typ.dtype, mask.dtype, neg.tolist()
print(Pos()(torch.ones(1, 3, dtype=torch.long)))
""",
    "slow tensor hot": r"""
import torch
import torch.nn as nn
import torch.nn.functional as F
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

import numpy as np
from torch.utils.data import Dataset, DataLoader
class D(Dataset):
    def __init__(self):
        self.a = np.zeros((4, 2), dtype=np.float32); self.l = [np.ones(2)] * 3
    def __len__(self): return 4
    def __getitem__(self, i):
        x = torch.tensor(self.a[i]); x += 1
        y = torch.tensor(np.array(self.l)); y += 1
        z = torch.tensor(self.l)
        w = torch.tensor(np.stack(self.l)); w += 1
        v = torch.tensor(self.a[i] * 2); v += 1
        u = torch.tensor(np.asarray(self.a)); u += 1
        t = torch.tensor(self.a.mean()); s = torch.tensor(self.a[i, 0])
        r = torch.tensor(self.a[::-1].copy()); q = torch.tensor([self.a[i], self.a[0]])
        p = torch.tensor(np.array([1, 2, 3]), dtype=torch.float32)
        o = torch.tensor(np.array(5)); n = torch.tensor(np.array([i]) > 1)
        m = torch.tensor(np.where(self.a > 0)[0]); k = torch.tensor(np.concatenate([self.a, self.a]), requires_grad=False)
        return x, y, z, w, v, u, t, s, r, q, p, o, n, m, k
d = D()
for t in d[1]: print(t.dtype, t.shape, t.tolist())
print(d.a.sum(), d.l[0].sum())
""",
    "deprecated hot": r"""
import torch
import torch.nn as nn
import torch.nn.functional as F
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

import warnings; warnings.simplefilter("ignore")
class M(nn.Module):
    def forward(self, x):
        gy, gx = torch.meshgrid(torch.arange(2), torch.arange(3))
        g = torch.stack(torch.meshgrid([torch.arange(2), torch.arange(2)]), dim=-1)
        y = F.upsample(x, scale_factor=2, mode="bilinear", align_corners=False)
        z = F.sigmoid(x) + F.tanh(x)
        return gy.tolist(), g.shape, y.shape, z.sum().item()
print(M()(torch.ones(1, 1, 2, 2)))
""",
    "no import needed": r"""
from torch import ones, LongTensor, nn
from torch.autograd import Variable
def f(x): return x.clone().detach()
print(f(ones(1)), LongTensor([1]), Variable(ones(1)))
""",
    "doc and future": r'''
"""Doc."""
from __future__ import annotations
from torch import LongTensor
from torch.cuda.amp import autocast
x = LongTensor([1])
with autocast(enabled=False): print(x, __doc__)
''',
    "class scope": r"""
class A:
    import torch
    x = torch.FloatTensor([1.0])
    def f(self):
        from torch import FloatTensor
        return FloatTensor([2.0])
    y = [__import__("torch").FloatTensor([v]) for v in (1.0,)]
print(A.x, A().f(), A.y)
""",
    "try shadow": r"""
import torch
try:
    raise ValueError
except ValueError as torch_:
    print(torch.FloatTensor([1.0]))
for torch2 in [torch]: print(torch2.FloatTensor([1.0]))
with __import__("contextlib").nullcontext(torch) as t: print(t.FloatTensor([1.0]))
def g(torch=torch): return torch.FloatTensor([3.0])
print(g())
""",
}
"""What `--fix` changes, by what is special about it."""

UNSAFE = {
    "eval decorate": r"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
data = [(torch.randn(4), torch.tensor(i % 2)) for i in range(8)]
torch.manual_seed(0)
net = nn.Linear(4, 2).to(device)
opt = torch.optim.SGD(net.parameters(), lr=0.1)

class Task:
    @staticmethod
    def check(model, loader):
        model.eval()
        n = 0
        for x, y in loader:
            n += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
        return n
    @classmethod
    def gen(cls, model, loader):
        model.eval()
        for x, y in loader:
            yield model(x.to(device)).argmax(1)
    def adapt(self, model, loader):
        model.eval()
        for x, y in loader:
            loss = F.cross_entropy(model(x.to(device)), y.to(device))
            loss.backward()
        return model.weight.grad is not None
    def saliency(self, model, loader):
        model.eval(); out = []
        for x, y in loader:
            x = x.to(device).requires_grad_()
            model(x).sum().backward(); out.append(x.grad.sum().item())
        return len(out)
    def keep(self, model, loader):
        model.eval(); outs = []
        for x, y in loader: outs.append(model(x.to(device)))
        return outs
l = DataLoader(data, batch_size=4)
t = Task()
print(isinstance(t.check(net, l), int), len(list(t.gen(net, l))), t.adapt(net, l), t.saliency(net, l), len(t.keep(net, l)))
torch.cat(t.keep(net, l)).sum().backward() if t.keep(net, l)[0].requires_grad else None
sum(o.sum() for o in t.keep(net, l)).backward()
print(net.weight.grad is not None)
""",
    "eval alternating": r"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
data = [(torch.randn(4), torch.tensor(i % 2)) for i in range(8)]
torch.manual_seed(0)
net = nn.Linear(4, 2).to(device)
opt = torch.optim.SGD(net.parameters(), lr=0.1)

def validate(model, loader):
    model.eval(); tot = 0
    for x, y in loader: tot += F.cross_entropy(model(x.to(device)), y.to(device)).item()
    model.train(); return tot
def train(model, loader):
    for e in range(2):
        for x, y in loader:
            loss = F.cross_entropy(model(x.to(device)), y.to(device)); opt.zero_grad(); loss.backward(); opt.step()
        print(type(validate(model, loader)).__name__)
        def closure():
            model.eval()
            for x, y in loader: out = F.cross_entropy(model(x.to(device)), y.to(device))
            return out
        closure().backward()
train(net, DataLoader(data, batch_size=4)); print("ok")
""",
    "mha": r"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
data = [(torch.randn(4), torch.tensor(i % 2)) for i in range(8)]
torch.manual_seed(0)
net = nn.Linear(4, 2).to(device)
opt = torch.optim.SGD(net.parameters(), lr=0.1)

class Block(nn.Module):
    def __init__(self):
        super().__init__(); self.attn = nn.MultiheadAttention(4, 2, batch_first=True); self.last = None
        self.own = Own()
    def forward(self, x, mask=None):
        a, w = self.attn(x, x, x)
        b, _ = self.attn(x, x, x, attn_mask=mask)
        c = self.attn(x, x, x)[0]
        d = self.attn(x, x, x)
        out, *rest = self.attn(x, x, x)
        e, _ = self.own(x, x, x)
        (f, _), g = self.attn(x, x, x), 1
        return (a + b + c + d[0] + out + e + f).shape, w.shape, d[1].shape, len(rest), rest[0].shape
class Own(nn.MultiheadAttention):
    def __init__(self): super().__init__(4, 2, batch_first=True)
    def forward(self, q, k, v): return super().forward(q, k, v)[0] + 0, 1
torch.manual_seed(0)
print(Block()(torch.randn(2, 3, 4)))
""",
    "graph kept": r"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
data = [(torch.randn(4), torch.tensor(i % 2)) for i in range(8)]
torch.manual_seed(0)
net = nn.Linear(4, 2).to(device)
opt = torch.optim.SGD(net.parameters(), lr=0.1)

hist, outs, total = [], [], 0
class Own(list):
    def append(self, x): super().append(x.item() if x.requires_grad else -1)
own = Own()
for x, y in DataLoader(data, batch_size=4):
    out = net(x.to(device)); loss = F.cross_entropy(out, y.to(device))
    opt.zero_grad(); loss.backward(); opt.step()
    hist.append(loss); outs += [(out, y)]; total += loss; own.append(loss)
print(len(hist), round(float(total), 2), own[0] > 0, sum(hist).item() > 0, outs[0][0].shape)
def later(loader):
    ls = []
    for x, y in loader: ls.append(F.cross_entropy(net(x.to(device)), y.to(device)))
    loss = torch.stack(ls).mean(); opt.zero_grad(); loss.backward(); opt.step(); return True
print(later(DataLoader(data, batch_size=2)))
""",
    "inverse": r"""
import torch
A = torch.tensor([[4.0, 1], [1, 3]]); b = torch.tensor([1.0, 2]); B = torch.ones(3, 2, 2) + torch.eye(2)
class M(torch.nn.Module):
    def forward(self, A, b, B):
        x = torch.inverse(A) @ b
        y = A.inverse().mm(b.unsqueeze(1))
        z = torch.bmm(torch.linalg.inv(B), B)
        w = b @ torch.linalg.inv(A)
        v = torch.linalg.inv(A) @ A @ b
        u = torch.matmul(torch.inverse(B), torch.ones(2))
        t = torch.inverse(B) @ torch.ones(3, 2, 1)
        return [t.shape for t in (x, y, z, w, v, u, t)] + [round(t.sum().item(), 3) for t in (x, y, z, w, v, u, t)]
print(M()(A, b, B)); print(M()(A.double(), b.double(), B.double())[:7] if False else "")
""",
    "logprob": r"""
import torch, torch.nn.functional as F
class M(torch.nn.Module):
    def forward(self, x, t):
        a = torch.log(torch.softmax(x, dim=-1))
        b = F.softmax(x, 1).log()
        c = torch.log(torch.sigmoid(x))
        d = torch.log(1 + torch.exp(x))
        e = torch.exp(x) - 1
        f = torch.log(torch.sum(torch.exp(x), dim=1))
        g = (x.exp().sum(1, keepdim=True)).log()
        h = F.binary_cross_entropy(torch.sigmoid(x), t)
        i = torch.log(1 + x)
        j = F.nll_loss(torch.log(F.softmax(x, dim=1)), t.argmax(1))
        k = torch.softmax(x, -1, dtype=torch.float64).log()
        l = (torch.exp(x) - 1).sum() * 2
        return [(t.dtype, tuple(t.shape), round(t.sum().item(), 3)) for t in (a, b, c, d, e, f, g, h, i, j, k, l)]
print(M()(torch.tensor([[0.1, 0.2], [0.3, 0.4]]), torch.tensor([[0.0, 1], [1, 0]])))
""",
    "requires grad": r"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
data = [(torch.randn(4), torch.tensor(i % 2)) for i in range(8)]
torch.manual_seed(0)
net = nn.Linear(4, 2).to(device)
opt = torch.optim.SGD(net.parameters(), lr=0.1)

for p in net.parameters(): p.require_grad = False
class B(nn.Module):
    def __init__(self): super().__init__(); self.fc = nn.Linear(4, 2); self.fc.weight.requires_grad = False
    def freeze(self):
        for p in self.parameters(): p.requires_grads = True
b = B(); b.freeze()
print("ok", [p.requires_grad for p in b.parameters()][1])
""",
    "optimizer": r"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
data = [(torch.randn(4), torch.tensor(i % 2)) for i in range(8)]
torch.manual_seed(0)
net = nn.Linear(4, 2).to(device)
opt = torch.optim.SGD(net.parameters(), lr=0.1)

class MyAdam(torch.optim.Adam):
    def __init__(self, params, lr=1e-3): super().__init__(params, lr=lr)
o1 = torch.optim.Adam(net.parameters(), lr=1e-3, foreach=False)
o2 = torch.optim.AdamW([{"params": net.parameters(), "lr": 0.1}], weight_decay=0.1)
o3 = MyAdam(net.parameters())
kw = {"lr": 0.1}; o4 = torch.optim.SGD(net.parameters(), **kw)
for o in (o1, o2, o3, o4):
    for x, y in DataLoader(data, batch_size=4):
        o.zero_grad(); F.cross_entropy(net(x.to(device)), y.to(device)).backward(); o.step()
print("ok", o1.defaults["lr"], len(o2.param_groups))
""",
    "per element": r"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
data = [(torch.randn(4), torch.tensor(i % 2)) for i in range(8)]
torch.manual_seed(0)
net = nn.Linear(4, 2).to(device)
opt = torch.optim.SGD(net.parameters(), lr=0.1)

import numpy as np
class M(nn.Module):
    def forward(self, lengths, rows):
        a = [l.item() for l in lengths]
        b = [int(l) for l in lengths]
        c = [float(v) for v in rows[0]]
        d = {i: t.item() for i, t in enumerate(lengths)}
        e = [str(v.item()) for v in lengths if v.item() > 1]
        f = sum(l.item() for l in lengths)
        g = tuple(l.cpu().item() for l in lengths)
        h = [[v.item() for v in r] for r in rows]
        i = max(int(l) for l in lengths)
        j = [bool(v > 1) for v in lengths]
        return a, b, c, d, e, f, g, h, i, j, type(a[0]).__name__, type(c[0]).__name__
for n in range(2): print(M()(torch.tensor([1, 2, 3]).to(device), torch.ones(2, 2).to(device)))
print(M()(torch.tensor([[1], [2]]).to(device), torch.ones(1, 2))[:2])
""",
}
"""What `--fix --unsafe-fixes` changes: they go on to train and to print the same words."""
