"""ResNet-18 by `torchvision`; the three convolutions of `tiny` by products of cut-out windows."""

import torch
import torchvision
from torch.nn import functional

import golden


def state_of(folder, preset):
    """Running statistics are buffers; in training they enter no value."""
    return golden.State(folder, f"resnet-{preset}", lambda key: ".running_" in key)


def images(state, channels):
    return state.batch["input"].view(-1, 1, 28, 28).expand(-1, channels, -1, -1)


def full(folder):
    state = state_of(folder, "18")
    model = torchvision.models.resnet18().double().train()
    assert set(state.parameters) == {name for name, _ in model.named_parameters()}
    logits = torch.func.functional_call(model, state.parameters, (images(state, 3),))
    golden.write(state, functional.cross_entropy(logits, state.batch["target"]), f"torchvision {torchvision.__version__}")


def unit(state, number, x, stride):
    """A convolution of 3 x 3 as one matrix product, normalized over the batch, and a ReLU."""
    kernel = state.parameters[f"conv{number}.weight"]
    windows = functional.unfold(x, 3, padding=1, stride=stride)
    side = (x.shape[-1] - 1) // stride + 1
    x = (kernel.flatten(1) @ windows).view(len(x), -1, side, side)
    mean = x.mean((0, 2, 3), keepdim=True)
    variance = ((x - mean) ** 2).mean((0, 2, 3), keepdim=True)
    scale, shift = (state.parameters[f"bn{number}.{kind}"].view(1, -1, 1, 1) for kind in ("weight", "bias"))
    return ((x - mean) / (variance + 1e-5).sqrt() * scale + shift).clamp(min=0)


def tiny(folder):
    state = state_of(folder, "tiny")
    x = images(state, 1)
    for number, stride in ((1, 1), (2, 2), (3, 2)):
        x = unit(state, number, x, stride)
    logits = x.mean((2, 3)) @ state.parameters["fc.weight"].T + state.parameters["fc.bias"]
    loss = -logits.log_softmax(1).gather(1, state.batch["target"][:, None]).mean()
    golden.write(state, loss, f"matrix products of torch {torch.__version__}")
