"""Losses from files of published weights, read by their publishers' own code: `from_pretrained` of `transformers`, and
`load_state_dict` of `torchvision`. Every tensor of a file must be taken and none be missing."""

import json
import pathlib
import shutil
import tempfile

import safetensors.torch
import torch
import torchvision
import transformers
from torch.nn import functional

import golden
import llama


def write(state, loss, by):
    model, preset = state.name.split("-", 1)
    document = {"model": model, "preset": preset, "by": by, "loss": float(loss)}
    (golden.HERE / "golden" / f"{state.name}-published.json").write_text(json.dumps(document, indent=1) + "\n")
    print(f"{state.name}-published: loss {float(loss)!r}, by {by}")


def file_of(folder, state):
    return pathlib.Path(folder) / f"{state.name}-published.safetensors"


def pretrained(kind, config, file):
    with tempfile.TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        shutil.copy(file, pathlib.Path(folder) / "model.safetensors")
        model, info = kind.from_pretrained(folder, output_loading_info=True, torch_dtype=torch.float64, attn_implementation="eager")
    assert not any(info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), info
    return model.double().eval()


def language_loss(model, state):
    logits = model(input_ids=state.batch["input"]).logits
    return functional.cross_entropy(logits.flatten(0, 1), state.batch["target"].flatten())


def gpt2(folder):
    state = golden.State(folder, "gpt2-tiny")
    config = transformers.GPT2Config(vocab_size=256, n_positions=64, n_embd=128, n_layer=4, n_head=4, attn_implementation="eager")
    model = pretrained(transformers.GPT2LMHeadModel, config, file_of(folder, state))
    write(state, language_loss(model, state), f"transformers {transformers.__version__}")


def decoder(folder):
    state = golden.State(folder, "llama-tiny", llama.is_table)
    ours = llama.decoder(state.buffers)
    model = pretrained(transformers.LlamaForCausalLM, ours.config, file_of(folder, state))
    model.model.rotary_emb.forward = ours.model.rotary_emb.forward
    write(state, language_loss(model, state), f"transformers {transformers.__version__}")


def clip(folder):
    state = golden.State(folder, "clip-tiny")
    tower = dict(hidden_size=64, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4, hidden_act="quick_gelu")
    config = transformers.CLIPConfig(
        text_config=dict(tower, vocab_size=260, max_position_embeddings=48, eos_token_id=257),
        vision_config=dict(tower, image_size=24, patch_size=6), projection_dim=64)
    model = pretrained(transformers.CLIPModel, config, file_of(folder, state))
    loss = model(input_ids=state.batch["tokens"], pixel_values=state.batch["image"], return_loss=True).loss
    write(state, loss, f"transformers {transformers.__version__}")


def resnet(folder):
    state = golden.State(folder, "resnet-18", lambda key: ".running_" in key)
    model = torchvision.models.resnet18()
    missing, unexpected = model.load_state_dict(safetensors.torch.load_file(file_of(folder, state)), strict=False)
    assert not unexpected and all(key.endswith(".num_batches_tracked") for key in missing), (missing, unexpected)
    images = state.batch["input"].view(-1, 1, 28, 28).expand(-1, 3, -1, -1)
    loss = functional.cross_entropy(model.double().train()(images), state.batch["target"])
    write(state, loss, f"torchvision {torchvision.__version__}")
