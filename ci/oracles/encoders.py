"""Our encoder blocks by the transformer layers of `torch.nn`."""

import torch
from torch.nn import functional


def gelu(x):
    return functional.gelu(x, approximate="tanh")


def attention_weights(part, name, prefix):
    """Of a torch.nn.MultiheadAttention called `prefix`, out of our parameters `name`."""
    stacked = [torch.cat([part[f"{name}.{which}_proj.{kind}"] for which in "qkv"]) for kind in ("weight", "bias")]
    return {
        f"{prefix}.in_proj_weight": stacked[0], f"{prefix}.in_proj_bias": stacked[1],
        f"{prefix}.out_proj.weight": part[f"{name}.out_proj.weight"],
        f"{prefix}.out_proj.bias": part[f"{name}.out_proj.bias"],
    }


def block_weights(part, norms):
    weights = attention_weights(part, "self_attn", "self_attn")
    if "cross_attn.q_proj.weight" in part:
        weights |= attention_weights(part, "cross_attn", "multihead_attn")
    for kind in ("weight", "bias"):
        weights |= {f"linear{i}.{kind}": part[f"mlp.fc{i}.{kind}"] for i in (1, 2)}
        weights |= {f"norm{i}.{kind}": part[f"layer_norm{i}.{kind}"] for i in range(1, norms + 1)}
    return weights


def block(state, name, x, heads, seen=None):
    """One block of ours, with cross-attention where it has that."""
    part = state.part(name + ".")
    hidden, width = part["mlp.fc1.weight"].shape
    kind = torch.nn.TransformerEncoderLayer if seen is None else torch.nn.TransformerDecoderLayer
    layer = kind(width, heads, hidden, dropout=0.0, activation=gelu, batch_first=True, norm_first=True)
    weights = block_weights(part, 2 if seen is None else 3)
    assert set(weights) == {key for key, _ in layer.named_parameters()}
    return torch.func.functional_call(layer, weights, (x,) if seen is None else (x, seen))


def norm(state, name, x):
    weight = state.parameters[name + ".weight"]
    return functional.layer_norm(x, weight.shape, weight, state.parameters[name + ".bias"], 1e-5)


def squares(state, name, images):
    """(M, 3, S, S) -> (M, squares, C), by cutting and a matrix product."""
    weight = state.parameters[name + ".weight"]
    cut = functional.unfold(images, weight.shape[2:], stride=weight.shape[2:]).transpose(1, 2)
    return cut @ weight.flatten(1).T + state.parameters[name + ".bias"]
