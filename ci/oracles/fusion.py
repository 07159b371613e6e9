"""The fusion model by the transformer layers of `torch.nn`."""

import torch

import encoders
import golden


def full(folder):
    state = golden.State(folder, "fusion-tiny")
    p, batch = state.parameters, state.batch
    image = encoders.squares(state, "image_model.patch_embedding", batch["image"])
    video = encoders.squares(state, "video_model.patch_embedding", batch["video"].flatten(0, 1))
    video = video.reshape(len(batch["video"]), -1, video.shape[-1])
    seen = []
    for name, x in (("image_model", image), ("video_model", video)):
        x = encoders.block(state, f"{name}.encoder.layers.0", x + p[f"{name}.position_embedding.weight"], 4)
        seen.append(encoders.norm(state, f"{name}.post_layernorm", x))
    seen = torch.cat(seen, 1)
    rows = p["text_model.token_embedding.weight"]
    x = encoders.block(state, "text_model.encoder.layers.0", rows[batch["tokens"]] + p["text_model.position_embedding.weight"], 4)
    for layer in range(2):
        x = encoders.block(state, f"fusion.layers.{layer}", x, 4, seen)
    logits = encoders.norm(state, "fusion.final_layer_norm", x) @ rows.T
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch["target"].flatten())
    golden.write(state, loss, f"torch.nn {torch.__version__}")
