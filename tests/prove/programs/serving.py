import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 20))
model.eval()
requests = torch.randn(12, 32)
with torch.no_grad():
    scores = torch.cat([model(requests[i : i + 1]) for i in range(len(requests))])
lengths = scores / scores.norm(dim=-1, keepdim=True).clamp_min(1e-12)
weights = torch.softmax(scores, dim=-1)
best = weights.topk(5, dim=-1)
for row, (values, names) in enumerate(zip(best.values, best.indices)):
    print(row, " ".join(f"{name}:{value:.6f}" for name, value in zip(names.tolist(), values.tolist())))
similar = lengths @ lengths.T
print(f"similar {similar.fill_diagonal_(0).max().item():.6f}")
torch.save({"weights": weights, "similar": similar}, "answers.pt")
