"""More scripts that do the same before and after their safe fixes: programs that were written to be broken by them."""

from __future__ import annotations

SAFE = {
    "names that are bound again": r"""
import functools
import torch
import torch.nn.functional as F
from torch.cuda.amp import autocast
from torch.nn.functional import upsample
from torch.utils.checkpoint import checkpoint
x = torch.ones(1, 1, 2, 2, requires_grad=True)
def double(x): return x * 2
print(type(checkpoint(double, x).grad_fn).__name__, upsample(x, scale_factor=2).shape)
with autocast(enabled=False): print(torch.get_autocast_dtype("cuda"))
checkpoint = functools.partial(checkpoint, use_reentrant=False)
autocast = functools.partial(autocast, dtype=torch.bfloat16)
def upsample(x, n): return n
print(type(checkpoint(double, x).grad_fn).__name__, upsample(x, 3))
with autocast(enabled=False): print(torch.get_autocast_dtype("cuda"))
def later(): return type(checkpoint(double, x).grad_fn).__name__, upsample(x, 4)
print(later())
""",
    "names that match and except take": r"""
import torch
from torch.utils.checkpoint import checkpoint
class Fake:
    FloatTensor = staticmethod(tuple)
def pick(given):
    match given:
        case {"torch": torch}: return torch.FloatTensor([1])
        case [1, checkpoint]: return checkpoint(int, "3")
        case {"a": _, **torch}: return torch["FloatTensor"]([1])
        case [2, *torch]: return torch
def caught():
    try: raise KeyError("a")
    except KeyError as torch: return torch.args
print(pick({"torch": Fake}), pick([1, lambda f, x: f(x)]), pick({"a": 1, "FloatTensor": list}), pick([2, 3]), caught())
print(torch.FloatTensor([1]), checkpoint(int, "3"))
""",
    "names of classes, lambdas and other functions": r"""
import torch
import torch.nn.functional as F
import torch.nn.functional as G
class Fake:
    FloatTensor = LongTensor = staticmethod(lambda v: ("fake", v))
    upsample = staticmethod(lambda *a: ("fake", a))
class Conf:
    torch, F = Fake, Fake
    x = torch.FloatTensor([1])
    y = F.upsample(3, 2)
    def f(self): return torch.LongTensor([1])
    class Inner: z = torch.LongTensor([1])
print(Conf.x, Conf.y, Conf().f(), Conf.Inner.z)
print([torch.FloatTensor([1]) for torch in [Fake]], torch.FloatTensor([2]), (lambda torch=Fake: torch.FloatTensor([1]))())
def outer():
    import torch
    def swap():
        nonlocal torch
        torch = Fake
    def use(): return torch.FloatTensor([1])
    return use(), swap(), use(), torch.LongTensor([2])
print(outer())
def again():
    global F
    F = Fake
again()
print(F.upsample(torch.ones(1), 2), G.upsample(torch.ones(1, 1, 1, 1), 2))
for i in range(2):
    print(torch.LongTensor([1]))
    torch = Fake
""",
    "autocast that is asked for its class": r"""
import torch
from torch.cuda.amp import autocast
a = autocast(False)
print(isinstance(a, autocast), isinstance(a, torch.autocast), type(a) is torch.autocast, torch.FloatTensor([1]))
""",
    "copies of what another class adds": r"""
import torch
class Vector:
    def __init__(self, values): self.values = values
    def __add__(self, other): return self
    def clone(self): return Vector(list(self.values))
class M(torch.nn.Module):
    def forward(self, x, y: torch.Tensor):
        a = (x + y).clone(); a.values.append(1)
        b = (y + y * 2 - 1).clone()
        return x.values, a.values, b
print(M()(Vector([0]), torch.ones(1)))
""",
    "typed constructors anywhere": r"""
import torch; a = torch.LongTensor([1]); b = torch.FloatTensor(
    [1,
     2], ); c = \
    torch.IntTensor([5]); print(a, b, c)
if True: d = torch.LongTensor([1, 2]); print(d)
else: d = torch.LongTensor([2]); print(d)
print(f"{torch.LongTensor([1])}", f"{torch.LongTensor([1])!r:>20}", f'{f"{torch.FloatTensor([1.0]).tolist()}"}', f"{torch.LongTensor([1])=}")
assert torch.LongTensor([1])[0] == 1, torch.LongTensor([2])
print((y := torch.LongTensor([1, 2])), y, *torch.LongTensor([1, 2]), {**{"a": torch.LongTensor([3])}})
print(torch.LongTensor([1])[0], -torch.LongTensor([1]), not torch.LongTensor([0]), torch.LongTensor([1]) ** 2, [*torch.LongTensor([1, 2])][-1])
""",
    "typed constructors at their limits": r"""
import torch
print(torch.DoubleTensor([1e308, -1e-320]), torch.LongTensor([9223372036854775807, -9223372036854775808]), torch.FloatTensor([16777217, 1e-46, 3.4028235e38]), torch.HalfTensor([65519, 0.1, 1e-8]), torch.BFloat16Tensor([1.00390625, 3]), torch.IntTensor([2147483647]), torch.ByteTensor([255]), torch.CharTensor([-128]))
print(torch.FloatTensor([1j]) if False else 0, torch.BoolTensor([0, 1, 2]), torch.DoubleTensor([0x1F, 1_000, 0b11]))
""",
    "typed constructors of parameters": r"""
import torch
x = torch.FloatTensor([1.0, 2.0]); x.requires_grad = True
(x * torch.FloatTensor([2., 3.])).sum().backward(); print(x.grad, x.is_leaf)
w = torch.nn.Parameter(torch.FloatTensor([[1, 2], [3, 4]])); print(w, w.dtype, w.shape)
print(torch.FloatTensor([[1, 2], [3, 4]]).storage().size(), torch.IntTensor([[1], [2]]).stride())
""",
    "variables of all kinds": r"""
import torch
from torch.autograd import Variable
x = torch.ones(2, requires_grad=True)
y = Variable(x); print(y.requires_grad, y is x, y.is_leaf)
z = Variable(x * 2); print(z.requires_grad)
p = torch.nn.Parameter(torch.ones(2)); q = Variable(p); print(type(q).__name__, q.requires_grad)
q2 = Variable(torch.ones(1).requires_grad_()); print(q2.requires_grad)
a = torch.zeros(3); b = Variable(a); b += 1; print(a, isinstance(b, Variable), type(Variable(a)))
c = Variable(torch.zeros(2)); c.requires_grad = True; (c * 2).sum().backward(); print(c.grad)
d = Variable(torch.rand(2, requires_grad=True)); print(d.requires_grad)
e = Variable(torch.tensor(1.0, requires_grad=True)); print(e.requires_grad)
""",
    "variables in inference mode": r"""
import torch
from torch.autograd import Variable
with torch.inference_mode():
    v = Variable(torch.ones(2)); print(v.is_inference(), v.requires_grad)
w = Variable(torch.full((2,), 3.)); w.data[0] = 1; print(w, w._version)
t = torch.arange(4.); u = Variable(t).view(2, 2); u[0] = 9; print(t, u._base is t, Variable(t)._is_view())
u.requires_grad_(); print(u.requires_grad, t.requires_grad)
x = torch.arange(3.0, requires_grad=True)
print(Variable(x).requires_grad, Variable(data=torch.ones(1)), Variable(torch.ones(1), False))
hooks = []
g = Variable(torch.ones(2)); g.requires_grad_().register_hook(lambda z: hooks.append(z.tolist())); (g*2).sum().backward(); print(hooks, g.is_leaf)
""",
    "variables that are resized": r"""
import torch
from torch.autograd import Variable
v = Variable(torch.zeros(3)); v.resize_(5); print(v.shape)
u = Variable(torch.zeros(2)); u.set_(torch.ones(4)); print(u.shape)
t = Variable(torch.zeros(2)); t.data = torch.ones(5); print(t.shape)
t.transpose_(0, 0); t.squeeze_(); t.unsqueeze_(0); print(t.shape)
w = Variable(torch.arange(4)); w.swapaxes_(0, 0) ; w.t_(); print(w)
""",
    "clone and detach of all kinds": r"""
import torch
x = torch.ones(2, 3, requires_grad=True)
y = (x * 2)
a = y.clone().detach(); b = y.clone().data; c = y.clone(memory_format=torch.contiguous_format).detach()
print(a.requires_grad, b._version, c.stride(), y.t().clone().detach().stride(), y.expand(2, 2, 3).clone().detach().stride())
z = y.clone().detach().requires_grad_(True); z.sum().backward(); print(z.grad, x.grad)
with torch.inference_mode(): print(y.clone().detach().is_inference())
cx = torch.ones(2, dtype=torch.cfloat).conj(); print(cx.clone().detach().is_conj(), cx.clone().data.is_conj())
sp = torch.eye(2).to_sparse(); print(sp.clone().detach().is_coalesced(), sp.clone().data)
q = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8); print(q.clone().detach())
print(torch.tensor(3).clone().detach().shape, torch.ones(2, device="meta").clone().detach().device)
p = torch.nn.Parameter(torch.ones(1)); print(type(p.clone().detach()).__name__, p.clone().detach().requires_grad, type(p.clone().data).__name__)
v = x.clone().detach().clone().detach(); v.zero_(); print(x.sum().item())
y.clone().detach().add_(5); print(y.sum().item())
print(torch.ones(1).clone().detach_() if True else 0)
""",
    "clone and detach under hooks": r"""
import torch
x = torch.ones(2, requires_grad=True)
def g(x):
    with torch.no_grad(): w = x.clone().detach()
    y = x.clone()
    y.retain_grad()
    z = (y * w).sum(); z.backward(); return y.grad, w
print(g(x), x.grad)
with torch.autograd.graph.saved_tensors_hooks(lambda t: (print("pack"), t)[1], lambda t: t):
    k = (x * 3).clone().detach(); m = (x * x).clone().data
print(k, m)
with torch.autograd.detect_anomaly(check_nan=False): print(x.clone().detach())
import torch.autograd.forward_ad as fwAD
with fwAD.dual_level():
    d = fwAD.make_dual(torch.ones(2), torch.full((2,), 5.0))
    print(fwAD.unpack_dual(d.clone().detach()), fwAD.unpack_dual(d.clone().data))
print(torch.func.jvp(lambda t: t.clone().detach() * t, (torch.ones(2),), (torch.ones(2),)))
""",
    "checkpoints as methods": r"""
import torch
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
class M(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.l = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.5))
        self.checkpoint = checkpoint
    def forward(self, x):
        x = self.checkpoint(self.l, x)
        x = checkpoint(self.l.__call__, x)
        ck = checkpoint
        x = ck(self.l, x)
        x = checkpoint_sequential(self.l, 2, x, preserve_rng_state=True)
        return checkpoint_sequential(functions=[self.l], segments=1, input=x)
x = torch.ones(1, 2, requires_grad=True); torch.manual_seed(1); m = M(); y = m(x); y.sum().backward(); print(y, x.grad, m.l[0].weight.grad)
""",
    "checkpoints with keywords": r"""
import torch, warnings
from torch.utils.checkpoint import checkpoint
def f(x, *, scale=1, use_reentrant=None): return x * scale
x = torch.ones(2, requires_grad=True)
try: print(checkpoint(f, x, scale=3))
except Exception as e: print(type(e).__name__, str(e)[:60])
try: print(checkpoint(f, x, preserve_rng_state=False))
except Exception as e: print(type(e).__name__, str(e)[:60])
try: print(checkpoint(f, x, determinism_check="none"))
except Exception as e: print(type(e).__name__, str(e)[:60])
try: print(checkpoint(f, x, debug=True))
except Exception as e: print(type(e).__name__, str(e)[:60])
try: print(checkpoint(f, x, context_fn=lambda: None))
except Exception as e: print(type(e).__name__, str(e)[:60])
print(checkpoint(f, torch.ones(1)).requires_grad)
args = [x]; kw = {"use_reentrant": False}
print(checkpoint(f, *args, **kw))
with torch.no_grad(): print(checkpoint(f, x))
print([checkpoint(f, t) for t in (x,)], (lambda t: checkpoint(f, t))(x), checkpoint(  # c
    f, x  # d
    ,))
""",
    "autocast in classes": r"""
import torch
from torch.cuda.amp import autocast
class T:
    amp = autocast
    def __init__(self, ctx=autocast): self.ctx = ctx
    @autocast()
    def a(self): return torch.is_autocast_enabled()
    @autocast(False)
    def b(self): return torch.is_autocast_enabled()
    def c(self):
        with self.ctx(enabled=False), T.amp(enabled=False) as k: return k.fast_dtype
print(T().a(), T().b(), T().c(), autocast(True, torch.bfloat16, False).fast_dtype, autocast(enabled=False, cache_enabled=False)._cache_enabled)
def dec(fn): return autocast(enabled=False)(fn)
@dec
def g(): return 5
print(g(), g.__name__)
args = (False,); kw = dict(dtype=torch.bfloat16)
print(autocast(*args).fast_dtype, autocast(**kw).fast_dtype, autocast(True, **kw).fast_dtype)
import pickle, copy
print(type(copy.copy(autocast(False))).__name__)
""",
    "autocast on the host": r"""
import torch, asyncio
from torch.cuda import amp
async def f():
    with amp.autocast(enabled=False):
        await asyncio.sleep(0); return 1
async def g():
    for i in range(2):
        with torch.cuda.amp.autocast(enabled=False): yield i
async def main(): print(await f(), [i async for i in g()])
asyncio.run(main())
def gen():
    with torch.cpu.amp.autocast(): yield (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
print(list(gen()))
with torch.cpu.amp.autocast(dtype=torch.float16): print((torch.ones(2, 2) @ torch.ones(2, 2)).dtype)
with torch.autocast("cpu", dtype=torch.float16):
    with torch.cpu.amp.autocast(): print((torch.ones(2, 2) @ torch.ones(2, 2)).dtype)
    with torch.cpu.amp.autocast(enabled=False): print((torch.ones(2, 2) @ torch.ones(2, 2)).dtype)
@torch.cpu.amp.autocast()
def h(): return (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
print(h())
""",
    "autocast in brackets": r"""
import torch
from torch.cuda.amp import autocast
with (autocast(enabled=False) as a,
      autocast(False) as b,
      ): print("in")
with (autocast(enabled=False)): print("x")
with autocast(enabled=
              False): pass
with autocast(
    # off
    False  # really
): pass
with autocast(*()) if False else autocast(False): pass
from contextlib import ExitStack
with ExitStack() as st: st.enter_context(autocast(enabled=False)); print([c.__class__.__name__ for c in [autocast(False)]])
x = (autocast)(False); y = (autocast  # c
 )(False); print(type(x).__name__, type(y).__name__)
""",
    "autocast of own functions": r"""
import torch
from torch.cuda.amp import custom_fwd, custom_bwd, autocast
class F(torch.autograd.Function):
    @staticmethod
    @custom_fwd
    def forward(ctx, x): ctx.save_for_backward(x); return x * 2
    @staticmethod
    @custom_bwd
    def backward(ctx, g): return g * 2
class G(torch.autograd.Function):
    @staticmethod
    @custom_fwd(cast_inputs=torch.float32)
    def forward(ctx, x): return x * 3
    @staticmethod
    @torch.cuda.amp.custom_bwd
    def backward(ctx, g): return g * 3
class H(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 4
    @staticmethod
    def backward(ctx, g): return g * 4
    backward = staticmethod(custom_bwd(backward)); forward = staticmethod(custom_fwd(forward))
x = torch.ones(2, requires_grad=True)
(F.apply(x).sum() + G.apply(x).sum() + H.apply(x).sum()).backward(); print(x.grad)
with autocast(enabled=False): print(F.apply(x))
""",
    "numbers before tensors": r"""
import torch
x = torch.ones(2); y = torch.full((2,), 3.)
x.add_(2, y); print(x); x.add_(-1, y.clone()); print(x)
print(torch.add(x, 2, y), x.sub(2, y), x.addcmul(0.5, x, y), x.addcdiv_(-0.1, x, y), torch.addcmul(x, 2, x, y))
m = torch.eye(2); print(torch.addmm(0.5, m, m, m), torch.addmm(0.5, m, 2, m, m), m.addmm(2, m, m), m.addmv if 0 else 0, x.addmv(1, 2, m, x), x.addmv_(0.5, m, x))
i = torch.ones(2, dtype=torch.long)
print(i.add(2, i), x.add_(2, i))
try: print(i.add_(0.5, i))
except Exception as e: print(type(e).__name__)
k = 3
def f(t, a): return t.add_(a, t), t.add(a, t * 2), t.sub_(k, t)
print(f(torch.ones(1), 2), f(torch.ones(1), torch.tensor(2.0)) if 0 else 0)
class S(set):
    def add(self, a, b): return (a, b)
print(S().add(1, 2))
p = torch.nn.Parameter(torch.ones(2)); p.grad = torch.ones(2)
for q in [p]: q.data.add_(-0.1, q.grad.data); q.grad.mul_(0.9).add_(0.1, q.data); print(q)
with torch.no_grad():
    buf = torch.zeros(2); buf.mul_(0.9).addcmul_(1 - 0.9, p.grad, p.grad); denom = buf.sqrt().add_(1e-8)
    p.addcdiv_(-0.01, p.grad, denom); print(p)
""",
    "upsampling by other names": r"""
import torch, torch.nn as nn
import torch.nn.functional as F
from torch.nn.functional import upsample, interpolate as ip
x = torch.arange(4.).view(1, 1, 2, 2)
print(upsample(x, scale_factor=2), F.upsample(x, (4, 4), None, "bilinear"), F.upsample(x, size=3, mode="bilinear", align_corners=True), F.upsample_nearest(x, scale_factor=2), F.upsample_bilinear(x, (3, 3)), F.upsample_bilinear(x, None, 2), F.upsample_nearest(input=x, size=4))
u = F.upsample; print(u(x, scale_factor=2).shape, nn.Upsample(scale_factor=2)(x).shape, [upsample(t, 4) for t in [x]][0].shape)
try: F.upsample_bilinear(x, scale_factor=(2, 2), size=None)
except Exception as e: print(type(e).__name__)
try: F.upsample(x)
except Exception as e: print(type(e).__name__, e)
def upsample(x, n): return n
print(upsample(x, 3))
""",
    "factories with keywords": r"""
import torch
class M(torch.nn.Module):
    def forward(self, x):
        buf = torch.empty(3)
        out = []
        out.append(torch.zeros(3, out=buf).to(x.device))
        out.append(torch.ones(2, requires_grad=True).to(x.device))
        out.append(torch.zeros(3, layout=torch.strided, memory_format=torch.contiguous_format).to(x.device) if False else torch.zeros(1))
        out.append(torch.zeros(2, 2, layout=torch.sparse_coo).to(x.device))
        out.append(torch.zeros(size=(2,)).to(device=x.device, dtype=torch.float16))
        out.append(torch.ones(2).to(x.device, copy=True))
        out.append(torch.ones(2).to(x.device, non_blocking=True))
        out.append(torch.full((2,), 3).to(x.device).float())
        out.append(torch.zeros(2, pin_memory=False).to(x.device))
        out.append(torch.empty_like(x).zero_().to(x.device))
        out.append(torch.zeros_like(x, dtype=torch.long).to(x.device))
        out.append(torch.ones_like(x.t()).to(x.device))
        out.append(torch.zeros(1, 2, 3, 4).to(x.device, memory_format=torch.channels_last) )
        out.append(torch.eye(2, 3).to(x.device, torch.bool))
        return out
for t in M()(torch.ones(2, 3)): print(t.dtype, tuple(t.shape), t.requires_grad, t.is_leaf, t.layout, t.stride() if t.layout == torch.strided else 0)
""",
    "factories to tensors": r"""
import torch
class M(torch.nn.Module):
    def forward(self, x, y=None):
        a = torch.zeros(3).to(x)
        b = torch.ones(2, dtype=torch.long).to(x)
        c = torch.eye(2).type_as(x)
        d = torch.arange(3).to(x)
        e = torch.full((2,), 2.7).to(x)
        f = torch.zeros(2, dtype=torch.bool).to(x.device).to(x.dtype)
        g = torch.zeros(2).double().to(x.device)
        h = torch.ones(2).long().to(x.device)
        return [(t.dtype, t.tolist()) for t in (a, b, c, d, e, f, g, h)]
for dt in (torch.float16, torch.int8, torch.bool, torch.complex64): print(M()(torch.ones(2, dtype=dt)))
""",
    "factories in place": r"""
import torch
class M(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.mask = None
    def forward(self, x):
        if self.mask is None: self.mask = torch.ones(3, 3).triu().to(x.device)
        m = torch.zeros(3, 3).t().to(x.device); m[0] = 1
        v = torch.zeros(9).view(3, 3).to(x.device); v += 1
        with torch.no_grad(): w = torch.zeros(4).view(2, 2).to(x.device)
        w.requires_grad_(); (w * 2).sum().backward()
        with torch.no_grad(): u = torch.ones(1, 4).squeeze(0).to(x.device)
        u[0] = 3.0 * x.sum().item()
        y = torch.zeros(2, 4).unsqueeze(1).to(x.device)
        y[:, 0] = x.sum()
        return m.stride(), v, w.grad, u, y, self.mask.stride(), y._base is None, v._base is None
x = torch.ones(3, requires_grad=True); print(M()(x)); print(M()(torch.ones(3)))
""",
    "copies differentiated twice": r"""
import torch
class M(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        a = x.clone().double(); a.retain_grad() if a.requires_grad else 0
        b = (x * 2).clone(); b.add_(1)
        c = (x + x).clone(); c *= b
        d = torch.cat([x, x]).clone(); d[0] = 5
        e = (x @ x).clone(); e.sub_(1)
        f = torch.stack([x]).clone(); f.exp_()
        g = (2 ** x).clone(); g.add_(1)
        h = (x ** 2).clone(); h.add_(1)
        i = (x ** 0).clone(); i.add_(1)
        j = (-x).clone(); j.add_(1)
        k = (x / 3).clone(); k.add_(1)
        l = (1 / x).clone(); l.add_(1)
        m = (x > 0).clone(); m[0] = False
        n = torch.where(x > 0, x, x).clone(); n.mul_(2)
        o = x.cumsum(0).clone(); o.mul_(2)
        p = x.repeat(1).clone(); p.mul_(2)
        q = torch.log(x).clone(); q.mul_(2)
        r = (x.detach() // 2).clone().detach(); s = (x | x if not x.is_floating_point() else x * 1).clone()
        return a.sum() + sum(t.sum() for t in (b, c, d, e, f, g, h, i, j, k, l, n, o, p, q, r, s)) , m
for x in (torch.tensor([1., 2.], requires_grad=True), torch.tensor([0.5, 3.], dtype=torch.double, requires_grad=True)):
    y, m = M()(x); g, = torch.autograd.grad(y, x, create_graph=True); g.sum().backward(); print(y, g, m, x.grad)
""",
    "copies and their strides": r"""
import torch, numpy as np
class M(torch.nn.Module):
    def forward(self, x: torch.Tensor, w):
        a = (np.ones(2) * 2).copy()
        b = (w * 2).clone() if hasattr(w, "clone") else w
        c = torch.matmul(x, x.t()).clone()
        d = torch.matmul(x[0], x[0]).clone()
        e = torch.bmm(x[None].expand(2, -1, -1), x.t()[None].expand(2, -1, -1)).clone()
        f = torch.cat((x.t(), x.t())).clone()
        g = torch.cat([x.to(memory_format=torch.contiguous_format).t()], 1).clone()
        h = (x.t() * 2).clone()
        i = (x.expand(2, 2, 3) + 1).clone()
        j = torch.where(x.t() > 0, x.t(), 0).clone()
        k = x.t().repeat(1, 1).clone()
        l = x.t().cumsum(0).clone()
        m = (x[:, ::2] + 1).clone()
        n = torch.stack([x.t(), x.t()], 2).clone()
        return [(t.stride(), t.is_contiguous(), t._is_view(), t.storage_offset(), t.untyped_storage().nbytes()) for t in (c, d, e, f, g, h, i, j, k, l, m, n)], a
for r in M()(torch.ones(2, 3), 3)[0]: print(r)
""",
    "copies of sparse tensors": r"""
import torch
class M(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        a = x.clone().double()
        b = x.double().clone()
        c = x.clone().cpu()
        return [(t.layout, t.dtype, t.is_coalesced() if t.layout == torch.sparse_coo else 0, t.to_dense().tolist()) for t in (a, b, c)]
i = torch.tensor([[0, 0, 1], [1, 1, 0]]); s = torch.sparse_coo_tensor(i, torch.ones(3), (2, 2))
print(M()(s), M()(s.coalesce()), M()(torch.eye(2).to_sparse_csr()))
q = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)
class Q(torch.nn.Module):
    def forward(self, q: torch.Tensor): return q.clone().cpu(), q.cpu().clone()
try: print(Q()(q))
except Exception as e: print(type(e).__name__, str(e)[:100])
""",
    "copies among operators": r"""
import torch
class M(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return ((x + 1).clone() * 2, -(x * 2).clone(), (x * 2).clone() ** 2, 2 ** (x + 1).clone(), not (x > 5).clone().any(), (x + 1).clone()[0], (x * 2).clone().sum(), [*(x + 1).clone()], f"{(x + 1).clone()}", (x @ x).clone() @ x if x.dim() > 1 else 0, (x + x  # c
             ).clone(), (x - 1).clone() - (x - 2).clone(), (x < 1).clone() == (x > 0).clone(), (x + 1).clone() if (x > 0).clone().all() else 0, (lambda: (x + 1).clone())())
print(M()(torch.ones(2)), M()(torch.ones(2, 2)))
async def f(x: torch.Tensor):
    for _ in range(2): y = (x + 1).clone(); yield (x * 2).clone(), y
""",
    "copies one behind another": r"""
import torch
class M(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        a = (x
             .clone()  # copy
             .float())
        b = x.clone(  ).float(  )
        c = (x + 1  # sum
             ).clone()
        d = ((x + 1)).clone()
        e = (yield_(x) * 2).clone().sum()
        f = x.clone().float().clone().double()
        g = (x * 2).clone().clone()
        h = (x if x.sum() > 0 else -x).clone().double()
        i = x[0].clone().float()[0]
        j = -x.clone().double()
        k = x.clone().double() ** 2
        l = [*x.clone().double()]
        m = torch.zeros(2, device="cpu").to(x.device)
        n = torch.zeros(2, dtype=torch.long).to(x.device, torch.float32)
        o = torch.zeros(2).to(x.device).to(torch.float16)
        p = torch.zeros(2).cpu().to(x.device)
        q = torch.zeros(2).to(x.device).clone()
        r = torch.zeros(2).float().to(x.device).long()
        return a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r
def yield_(x): return x
print(M()(torch.ones(2, 2)))
""",
    "keywords that are there already": r"""
import torch
import torch.nn.functional as F
x = torch.ones(1, 1, 2, 2)
def tried(call):
    try: return call()
    except TypeError: return "refused"
print(tried(lambda: F.upsample_bilinear(x, 3, align_corners=False)), tried(lambda: F.upsample_bilinear(x, 3, mode="area")))
print(tried(lambda: F.upsample_nearest(x, mode="area")), tried(lambda: torch.cuda.amp.custom_fwd(device_type="cuda")))
print(F.upsample_bilinear(x, 3), F.upsample_bilinear(x, scale_factor=2))
""",
    "values of what is left on the way": r"""
import torch
from torch.autograd import Variable
class Sub(torch.Tensor): pass
def broken(n):
    t = torch.ones(1)
    for q in range(3):
        if q == n: t = t.as_subclass(Sub); break
    else: t = torch.zeros(1)
    return type(Variable(t)).__name__
def went_on(n):
    t = torch.ones(1)
    for q in range(3):
        if q >= n:
            t = t.as_subclass(Sub)
            continue
        t = torch.zeros(1)
    return type(Variable(t)).__name__
def while_true(n):
    t = torch.ones(1)
    while True:
        if n: t = t.as_subclass(Sub); break
        n = 1
        t = torch.zeros(1)
    return type(Variable(t)).__name__
def comprehended(n):
    t = torch.ones(1)
    [t := t.as_subclass(Sub) for _ in range(n)]
    return type(Variable(t)).__name__
def matched(n):
    t = torch.ones(1)
    match n:
        case [t]: pass
        case {"t": t}: pass
        case {"a": 1, **t}: t = torch.ones(2)
        case _: pass
    return type(Variable(t)).__name__
def caught(n):
    t = torch.ones(1)
    def swap():
        nonlocal t
        t = t.as_subclass(Sub)
    if n: swap()
    return type(Variable(t)).__name__
s = torch.ones(1).as_subclass(Sub)
print([f(n) for f in (broken, went_on, while_true, comprehended, matched, caught) for n in (0, 1, 9)], matched([s]), matched({"t": s}), torch.FloatTensor([1]))
""",
    "scalers by other names": r"""
import torch
from torch.cuda.amp import GradScaler
s = GradScaler(enabled=False)
class Trainer:
    def __init__(self): self.grow = GradScaler(enabled=False)
    def shown(self): return self.grow.__class__.__module__
print(type(s).__module__, Trainer().shown(), torch.FloatTensor([1]))
""",
    "scalers that nobody looks at": r"""
import torch
from torch.cuda.amp import GradScaler
s = GradScaler(enabled=False)
print(s.is_enabled(), s.state_dict(), s.scale(torch.ones(1)))
""",
    "variables of what others hold": r"""
import torch
from torch.autograd import Variable
class Sub(torch.Tensor): pass
def of(t): return type(t).__name__
held = [torch.ones(1)]
held[0] = held[0].as_subclass(Sub)
class Base:
    def __init__(self): self.t = torch.ones(1)
    def made(self): return torch.ones(1)
    def given(self): return of(Variable(self.made())), of(Variable(self.t))
class Derived(Base):
    def made(self): return torch.ones(1).as_subclass(Sub)
def wrapped(function): return lambda: function().as_subclass(Sub)
@wrapped
def decorated(): return torch.ones(1)
def changed():
    one = Base()
    one.t = torch.ones(1)
    def change(): one.t = one.t.as_subclass(Sub)
    change()
    return of(Variable(one.t))
print(of(Variable(held[0])), Base().given(), Derived().given(), of(Variable(decorated())), changed(), Variable(torch.ones(1)))
""",
    "memory that out= resizes": r"""
import numpy as np
import torch
class D(torch.utils.data.Dataset):
    def __init__(self, n): self.n = n
    def __getitem__(self, i):
        x = torch.tensor(np.ones(self.n))
        torch.add(torch.ones(4, dtype=torch.float64), 1, out=x)
        return x
print(D(0)[0], torch.FloatTensor([1]))
""",
    "tabs and long lines": r'''
import torch
class A:
	def f(self):
		if True:
			x = torch.FloatTensor([1.0, 2.0]) + torch.FloatTensor([3.0, 4.0])
			return (x, torch.LongTensor([1]),
				torch.LongTensor([2]))
	def g(self):
		return {"a": [torch.LongTensor([1]), torch.LongTensor([2])], "text": """
  keep
	this""", "b": torch.LongTensor([3])}
print(A().f(), A().g())
''',
}
"""By what is special about them."""
