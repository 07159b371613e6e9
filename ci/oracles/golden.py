"""What the oracles share: reading a worker's state, and writing what an independent implementation made of it."""

import json
import math
import pathlib

import safetensors.torch
import torch

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)

HERE = pathlib.Path(__file__).parent


class Doubled:
    """`torch` for a module that widens to float32 by name: here it must not narrow to it."""

    float32 = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


class State:
    """Tensors of one file: parameters as leaves that collect gradients, buffers, and the fields of the batch."""

    def __init__(self, folder, name, is_buffer=lambda key: False):
        tensors = safetensors.torch.load_file(pathlib.Path(folder) / f"{name}.safetensors")
        self.name = name
        self.batch = {key.removeprefix("batch/"): tensors.pop(key) for key in list(tensors) if key.startswith("batch/")}
        self.buffers = {key: tensors.pop(key) for key in list(tensors) if is_buffer(key)}
        self.parameters = {key: value.requires_grad_(True) for key, value in tensors.items()}

    def part(self, prefix):
        """Parameters whose names begin so, by the rest of their names."""
        return {k.removeprefix(prefix): v for k, v in self.parameters.items() if k.startswith(prefix)}


def summary(gradient):
    flat = gradient.flatten()
    n = flat.numel()
    count = min(8, n)
    places = [0 if count == 1 else i * (n - 1) // (count - 1) for i in range(count)]
    weights = torch.arange(n, dtype=torch.float64) % 97 - 48
    return {
        "l2": math.sqrt(float((flat * flat).sum())),
        "weighted_sum": float((flat * weights).sum()),
        "elements": [float(flat[i]) for i in places],
    }


def write(state, loss, by):
    """`by`: the implementation and its version. A parameter without a gradient is a frozen one."""
    loss.backward()
    write_values(state, float(loss), {k: v.grad for k, v in state.parameters.items() if v.grad is not None}, by)


def write_values(state, loss, gradients, by):
    model, preset = state.name.split("-", 1)
    document = {
        "model": model,
        "preset": preset,
        "by": by,
        "loss": loss,
        "gradients": {name: summary(gradient) for name, gradient in sorted(gradients.items())},
    }
    (HERE / "golden" / f"{state.name}.json").write_text(json.dumps(document, indent=1) + "\n")
    print(f"{state.name}: loss {loss!r}, {len(document['gradients'])} gradients, by {by}")
