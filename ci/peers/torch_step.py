#!/usr/bin/env python3
"""The same trainings as models/mlp, gpt2, llama and resnet, as people write them in PyTorch: what a step costs in Python.

Eager, or compiled with --compile; the update by --update, whichever of PyTorch's three is asked for. A step is timed from where our worker's begins to where it ends: gradients dropped, a batch
gathered in host memory and copied to the device, forward, backward, update; what lies between two steps counts on neither
side. Prints one JSON line with the median step time after warm-up; ci/compare_torch.sh sets it against our worker on the same
libraries.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time

import torch
from torch import nn
from torch.nn import functional


class Mlp(nn.Module):
    def __init__(self, hidden: int, hidden_layers: int = 1) -> None:
        super().__init__()
        widths = [784] + [hidden] * hidden_layers + [10]
        self.layers = nn.ModuleList(nn.Linear(reads, makes) for reads, makes in zip(widths, widths[1:]))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = images
        for layer in self.layers[:-1]:
            x = functional.relu(layer(x))
        return self.layers[-1](x)


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(width)
        self.c_attn = nn.Linear(width, 3 * width)
        self.attn_proj = nn.Linear(width, width)
        self.ln_2 = nn.LayerNorm(width)
        self.c_fc = nn.Linear(width, 4 * width)
        self.mlp_proj = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor, future: torch.Tensor) -> torch.Tensor:
        batch, context, width = x.shape

        def heads_of(part: torch.Tensor) -> torch.Tensor:
            return part.view(batch, context, self.heads, width // self.heads).transpose(1, 2)

        query, key, value = (heads_of(part) for part in self.c_attn(self.ln_1(x)).split(width, dim=2))
        # Written out, as models/gpt2 does it unless the knob `attention` says otherwise.
        scores = (query @ key.transpose(-2, -1)) * (1 / math.sqrt(width // self.heads))
        weights = functional.softmax(scores.masked_fill(future, -math.inf), dim=-1)
        x = x + self.attn_proj((weights @ value).transpose(1, 2).reshape(batch, context, width))
        return x + self.mlp_proj(functional.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, layers: int, width: int, heads: int, context: int, vocabulary: int) -> None:
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.register_buffer("future", torch.ones(context, context, dtype=torch.bool).triu(1))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x, self.future)
        return functional.linear(self.ln_f(x), self.wte.weight)


class Convolutions(nn.Module):
    """Three convolutions of 3 x 3, each normalized over the batch: models/resnet at its smallest."""

    def __init__(self) -> None:
        super().__init__()
        sizes = ((1, 8, 1), (8, 16, 2), (16, 32, 2))
        self.convolutions = nn.ModuleList(nn.Conv2d(i, o, 3, stride, 1, bias=False) for i, o, stride in sizes)
        self.norms = nn.ModuleList(nn.BatchNorm2d(o) for _, o, _ in sizes)
        self.fc = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for convolution, norm in zip(self.convolutions, self.norms):
            x = functional.relu(norm(convolution(x)))
        return self.fc(x.mean((2, 3)))


class RmsNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5))


class LlamaBlock(nn.Module):
    def __init__(self, width: int, heads: int, kv_heads: int, hidden: int) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_width = heads, kv_heads, width // heads
        self.input_norm, self.post_norm = RmsNorm(width), RmsNorm(width)
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, kv_heads * self.head_width, bias=False)
        self.v = nn.Linear(width, kv_heads * self.head_width, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: torch.Tensor, future: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        batch, context, width = x.shape

        def heads_of(part: torch.Tensor, heads: int) -> torch.Tensor:
            return part.view(batch, context, heads, self.head_width).transpose(1, 2)

        def rotated(part: torch.Tensor) -> torch.Tensor:
            a, b = part.chunk(2, dim=-1)
            return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)

        y = self.input_norm(x)
        query = rotated(heads_of(self.q(y), self.heads))
        key = rotated(heads_of(self.k(y), self.kv_heads)).repeat_interleave(self.heads // self.kv_heads, dim=1)
        value = heads_of(self.v(y), self.kv_heads).repeat_interleave(self.heads // self.kv_heads, dim=1)
        scores = (query @ key.transpose(-2, -1)) * (1 / math.sqrt(self.head_width))
        weights = functional.softmax(scores.masked_fill(future, -math.inf), dim=-1)
        x = x + self.o((weights @ value).transpose(1, 2).reshape(batch, context, width))
        y = self.post_norm(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, layers: int, width: int, heads: int, kv_heads: int, hidden: int, context: int, vocabulary: int) -> None:
        super().__init__()
        self.context, self.vocabulary = context, vocabulary
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, kv_heads, hidden) for _ in range(layers))
        self.norm = RmsNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        half = width // heads // 2
        angles = torch.arange(context)[:, None] * 10000.0 ** (-torch.arange(half) / half)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        self.register_buffer("future", torch.ones(context, context, dtype=torch.bool).triu(1))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x, self.future, self.cos, self.sin)
        return self.head(self.norm(x))


def adam(rate: float, betas: tuple[float, float] = (0.9, 0.999)):
    return lambda parameters, **how: torch.optim.Adam(parameters, lr=rate, betas=betas, **how)


def adamw(rate: float, betas: tuple[float, float], decay: float):
    """Matrices decay, norms do not, as in the models here."""

    def make(parameters, **how):
        every = list(parameters)
        groups = [{"params": [p for p in every if p.dim() > 1], "weight_decay": decay},
                  {"params": [p for p in every if p.dim() < 2], "weight_decay": 0.0}]  # fmt: skip
        return torch.optim.AdamW(groups, lr=rate, betas=betas, **how)

    return make


def sgd(rate: float):
    return lambda parameters, **how: torch.optim.SGD(parameters, lr=rate, momentum=0.9, **how)


# MODEL/PRESET: network and optimizer.
WORKLOADS = {
    "mlp/base": (lambda: Mlp(128), adam(1e-3)),
    "mlp/small": (lambda: Mlp(16), adam(1e-3)),
    "mlp/sgd": (lambda: Mlp(128), sgd(0.1)),
    "mlp/adamw": (lambda: Mlp(128), adamw(1e-3, (0.9, 0.999), 0.01)),
    "mlp/mid": (lambda: Mlp(512, 3), adamw(1e-3, (0.9, 0.999), 0.01)),
    "gpt2/tiny": (lambda: Gpt2(4, 128, 4, 64, 256), adam(1e-3)),
    "gpt2/124m": (lambda: Gpt2(12, 768, 12, 1024, 50257), adam(6e-4, (0.9, 0.95))),
    "llama/tiny": (lambda: Llama(2, 64, 4, 2, 176, 128, 260), adamw(3e-3, (0.9, 0.95), 0.1)),
    "resnet/tiny": (Convolutions, sgd(0.1)),
}

# How torch.optim updates: a loop over tensors, calls over lists of them, or one kernel.
UPDATES = {"loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}

SAMPLES = 1024


def samples_of(model: nn.Module) -> tuple[torch.Tensor, torch.Tensor]:
    if isinstance(model, Mlp):
        return torch.rand(SAMPLES, 784), torch.randint(10, (SAMPLES,))
    if isinstance(model, Convolutions):
        return torch.rand(SAMPLES, 1, 28, 28), torch.randint(10, (SAMPLES,))
    if isinstance(model, Llama):
        context, vocabulary = model.context, model.vocabulary
    else:
        context, vocabulary = model.wpe.num_embeddings, model.wte.num_embeddings
    return torch.randint(vocabulary, (SAMPLES, context)), torch.randint(vocabulary, (SAMPLES, context))


class Batches:
    """Gathers the samples of a batch in host memory, page-locked for a GPU, and copies them to where they are wanted."""

    def __init__(self, model: nn.Module, size: int, device: str) -> None:
        self.data = samples_of(model)
        self.size = size
        self.on_gpu = device == "cuda"
        self.batch = [torch.empty((size, *part.shape[1:]), dtype=part.dtype, device=device) for part in self.data]

    def load(self) -> list[torch.Tensor]:
        rows = torch.randint(SAMPLES, (self.size,))
        for part, batch in zip(self.data, self.batch):
            if self.on_gpu:
                gathered = torch.empty(batch.shape, dtype=part.dtype, pin_memory=True)
                batch.copy_(torch.index_select(part, 0, rows, out=gathered), non_blocking=True)
            else:
                torch.index_select(part, 0, rows, out=batch)
        return self.batch


class StepTimes:
    """Events on a GPU, where the host runs ahead; the clock on a CPU."""

    def __init__(self, on_gpu: bool) -> None:
        self.on_gpu = on_gpu
        self.marks: list = []

    def mark(self) -> None:
        if self.on_gpu:
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self.marks.append(event)
        else:
            self.marks.append(time.perf_counter_ns())

    def of_steps_ns(self) -> list[float]:
        """From the first mark of each step to its second."""
        steps = list(zip(self.marks[::2], self.marks[1::2]))
        if self.on_gpu:
            torch.cuda.synchronize()
            return [a.elapsed_time(b) * 1e6 for a, b in steps]
        return [float(b - a) for a, b in steps]


def train(arguments: argparse.Namespace) -> list[float]:
    build, optimizer_of = WORKLOADS[arguments.workload]
    model = build()
    batches = Batches(model, arguments.batch_size, arguments.device)
    model = model.to(arguments.device)
    optimizer = optimizer_of(model.parameters(), **UPDATES[arguments.update])
    forward = torch.compile(model) if arguments.compile else model
    narrow = arguments.precision == "bf16"
    times = StepTimes(arguments.device == "cuda")
    for _ in range(arguments.steps):
        times.mark()
        optimizer.zero_grad(set_to_none=True)
        inputs, targets = batches.load()
        with torch.autocast(arguments.device, torch.bfloat16, enabled=narrow):
            output = forward(inputs)
        loss = functional.cross_entropy(output.float().view(-1, output.shape[-1]), targets.view(-1))
        loss.backward()
        optimizer.step()
        times.mark()
    if not math.isfinite(loss.item()):
        raise SystemExit("torch_step: the loss is not a finite number")
    return times.of_steps_ns()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", choices=sorted(WORKLOADS))
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--update", choices=sorted(UPDATES), default="loop")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    times_ns = train(arguments)[max(arguments.steps // 10, 3) :]
    name = torch.cuda.get_device_name() if arguments.device == "cuda" else "cpu"
    print(json.dumps({"torch": torch.__version__, "git": torch.version.git_version, "device_name": name, "steps": len(times_ns),
                      "update": arguments.update, "step_time_ns": statistics.median(times_ns)}))  # fmt: skip


if __name__ == "__main__":
    main()
