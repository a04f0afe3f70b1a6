"""accelerate moves the batches and counts the micro-steps."""

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM
from utils import clip, track


def main(dataset):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(dataset, batch_size=8, pin_memory=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    step, train_loss = 0, 0.0
    for epoch in range(3):
        for batch in loader:
            with accelerator.accumulate(model):
                mask = batch["mask"].to(accelerator.device)  # moved already
                loss = model(**batch, mask=mask).loss
                train_loss += accelerator.gather(loss).mean().item()  # TL101
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    clip(accelerator, model)
                optimizer.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                step += 1
                track(accelerator, loss, step)
                if step % 500 == 0:
                    print(loss.item())


if __name__ == "__main__":
    main(None)
