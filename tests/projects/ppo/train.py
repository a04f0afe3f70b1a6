"""Rollouts outside, updates inside: the environment's steps are not the optimizer's."""

import gymnasium as gym
import numpy as np
import torch
from agent import Agent
from torch import nn, optim


def main(iterations=100, num_steps=128, epochs=4):
    device = torch.device("cuda")
    envs = gym.make_vec("CartPole-v1", 8)
    agent = Agent(envs).to(device)
    optimizer = optim.Adam(agent.parameters(), lr=2.5e-4)
    obs = torch.zeros((num_steps, 8, 4)).to(device)
    next_obs = torch.Tensor(envs.reset()[0]).to(device)
    for iteration in range(iterations):
        for step in range(num_steps):
            with torch.no_grad():
                action, logprob, _, value = agent.act(next_obs)
            state, reward, done, _, info = envs.step(action.cpu().numpy())
            next_obs = torch.Tensor(state).to(device)
            obs[step] = next_obs
        clipfracs = []
        for epoch in range(epochs):
            for start in range(0, num_steps, 32):
                _, newlogprob, entropy, newvalue = agent.act(obs[start : start + 32])
                ratio = newlogprob.exp()
                with torch.no_grad():
                    clipfracs += [((ratio - 1.0).abs() > 0.2).float().mean().item()]  # TL101
                loss = (newvalue.mean() - entropy.mean()) * ratio.mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        print(iteration, loss.item(), np.mean(clipfracs))


if __name__ == "__main__":
    main()
