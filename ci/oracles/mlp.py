"""The perceptrons by JAX, which shares no code with LibTorch."""

import jax
import numpy
import torch
from jax import numpy as jnp

import golden

jax.config.update("jax_enable_x64", True)


def loss_of(parameters, pixels, target):
    layers = len(parameters) // 2
    x = pixels
    for layer in range(1, layers + 1):
        x = x @ parameters[f"fc{layer}.weight"].T + parameters[f"fc{layer}.bias"]
        x = jax.nn.relu(x) if layer < layers else x
    return -jnp.take_along_axis(jax.nn.log_softmax(x), target[:, None], axis=1).mean()


def run(folder, preset):
    state = golden.State(folder, f"mlp-{preset}")
    parameters = {name: jnp.asarray(value.detach().numpy()) for name, value in state.parameters.items()}
    batch = [jnp.asarray(state.batch[field].numpy()) for field in ("input", "target")]
    loss, gradients = jax.value_and_grad(loss_of)(parameters, *batch)
    assert loss.dtype == jnp.float64
    tensors = {name: torch.from_numpy(numpy.array(value)) for name, value in gradients.items()}
    golden.write_values(state, float(loss), tensors, f"jax {jax.__version__}")


def base(folder):
    run(folder, "base")


def small(folder):
    run(folder, "small")


def sgd(folder):
    run(folder, "sgd")


def adamw(folder):
    run(folder, "adamw")


def mid(folder):
    run(folder, "mid")
