"""A PyTorch DataLoader that nothing waits for: loader_worker.py SECONDS LOG WORKERS. LOG gets a line each batch of 64."""

import sys
import time

import torch


class Samples(torch.utils.data.Dataset):
    """Each is cropped, mirrored and scaled, as an image would be; 1 to 2 ms of one thread."""

    def __init__(self):
        self.raw = torch.randint(0, 255, (3, 256, 256), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        top, left = index % 32, index // 32 % 32
        x = self.raw[:, top : top + 224, left : left + 224].flip(2).to(torch.float32) / 255
        mean, std = x.mean((1, 2), keepdim=True), x.std((1, 2), keepdim=True)
        return ((x - mean) / std).clamp(-3, 3)


if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(Samples(), batch_size=64, num_workers=int(sys.argv[3]))
    log, end = open(sys.argv[2], "a", buffering=1), time.monotonic() + float(sys.argv[1])
    for number, _ in enumerate(loader):
        print("batch", number, file=log)
        if time.monotonic() > end:
            break
