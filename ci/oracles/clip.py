"""CLIP by `transformers`."""

import torch
import transformers

import golden


def full(folder):
    state = golden.State(folder, "clip-tiny")
    tower = dict(hidden_size=64, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4, hidden_act="quick_gelu")
    config = transformers.CLIPConfig(
        text_config=dict(tower, vocab_size=260, max_position_embeddings=48, eos_token_id=257),
        vision_config=dict(tower, image_size=24, patch_size=6),
        projection_dim=64,
        attn_implementation="eager",
    )
    model = transformers.CLIPModel(config).double()
    assert set(state.parameters) == {name for name, _ in model.named_parameters()}
    inputs = {"input_ids": state.batch["tokens"], "pixel_values": state.batch["image"], "return_loss": True}
    golden.write(state, torch.func.functional_call(model, state.parameters, (), kwargs=inputs).loss,
                 f"transformers {transformers.__version__}")
