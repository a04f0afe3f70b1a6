import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3, eps=1e-5)
GAMMA = 0.99


def episode():
    state = torch.zeros(6)
    logs, rewards = [], []
    for _ in range(12):
        choice = Categorical(logits=policy(state))
        action = choice.sample()
        logs.append(choice.log_prob(action))
        state = 0.9 * state + 0.1 * torch.randn(6) + 0.05 * (action - 1)
        rewards.append(-state.pow(2).sum().item())
    return logs, rewards


for step in range(6):
    logs, rewards = episode()
    returns, running = [], 0.0
    for reward in reversed(rewards):
        running = reward + GAMMA * running
        returns.insert(0, running)
    returns = torch.tensor(returns)
    advantage = (returns - returns.mean()) / (returns.std() + 1e-8)
    loss = -sum(log * weight for log, weight in zip(logs, advantage))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"episode {step}: {sum(rewards):.4f}")
