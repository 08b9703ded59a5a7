"""How fast does PyTorch train the same LeNet on one core? The same loop as bench_lenet.cpp: forward, backward, Adam.

torch_lenet.py [seconds] [adam|none]     prints "torch <batch> <images/s>" per batch
torch_lenet.py --about                   prints version, build and the BLAS that is really loaded
"""
import os
import sys
import time

import torch
from torch import nn

STEPS_AT_ONCE = 20


def about():
    print("PyTorch", torch.__version__)
    for line in torch.__config__.show().splitlines():
        if "Build settings" not in line:
            print(" ", line.strip())
    torch.mm(torch.rand(64, 64), torch.rand(64, 64))
    with open("/proc/self/maps", encoding="ascii") as maps:
        loaded = {line.split()[-1] for line in maps if "blas" in line.lower() and "/" in line}
    print("  BLAS loaded:", ", ".join(sorted(loaded)) or "none")
    print("  threads:", torch.get_num_threads())


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def images_per_second(batch, seconds, update):
    torch.manual_seed(1)
    model, loss = lenet(), nn.CrossEntropyLoss()
    # The fused-over-tensors form is the faster one that 1.13 offers on a CPU.
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=True)
    images, labels = torch.rand(batch, 1, 28, 28), torch.randint(0, 10, (batch,))

    def run():
        for _ in range(STEPS_AT_ONCE):
            adam.zero_grad(set_to_none=True)
            loss(model(images), labels).backward()
            if update:
                adam.step()

    run()
    best, start = 0.0, time.process_time()
    while time.process_time() - start < seconds:
        before = time.process_time()
        run()
        best = max(best, batch * STEPS_AT_ONCE / (time.process_time() - before))
    return best


def main():
    torch.set_num_threads(1)
    if "--about" in sys.argv:
        about()
        return
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    update = len(sys.argv) <= 2 or sys.argv[2] == "adam"
    for batch in (32, 64):
        print("torch", batch, round(images_per_second(batch, seconds, update)))


if __name__ == "__main__":
    main()
