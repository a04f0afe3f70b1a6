import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
PAD = 0
text = torch.randint(1, 40, (8, 33))
text[:, 28:] = PAD


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 32)
        self.place = nn.Parameter(torch.randn(32, 32) * 0.02)
        self.rnn = nn.LSTM(32, 48, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(48, 40)

    def forward(self, tokens, state):
        x = F.one_hot(tokens, 40).float() @ self.embed.weight + self.place[: tokens.shape[1]]
        x, state = self.rnn(x, state)
        return self.out(self.drop(x)), state


model = Language()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, foreach=False)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 6))
total = 0.0
for step in range(8):
    state = None
    losses = []
    for part in range(2):
        tokens = text[:, 16 * part : 16 * part + 17]
        logits, state = model(tokens[:, :-1], state)
        state = tuple(one.detach() for one in state)
        losses.append(F.cross_entropy(logits.reshape(-1, 40), tokens[:, 1:].reshape(-1), ignore_index=PAD))
    loss = sum(losses) / len(losses)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.05, foreach=False)
    optimizer.step()
    schedule.step()
    total += loss.item()
print(f"mean loss {total / 8:.4f}")
