"""The vision-language model by `torch.nn`, its decoder by `transformers`."""

import torch
import transformers

import encoders
import golden
import llama


def full(folder):
    state = golden.State(folder, "vlm-tiny", llama.is_table)
    p, batch = state.parameters, state.batch
    samples, slices = batch["slices"].shape[:2]
    x = encoders.squares(state, "vpm.embeddings.patch_embedding", batch["slices"].flatten(0, 1))
    x = encoders.block(state, "vpm.encoder.layers.0", x + p["vpm.embeddings.position_embedding.weight"], 4)
    x = encoders.norm(state, "vpm.post_layernorm", x)

    seen = encoders.norm(state, "resampler.ln_kv", x @ p["resampler.kv_proj.weight"].T)
    asks = encoders.norm(state, "resampler.ln_q", p["resampler.query"]).expand(samples * slices, -1, -1)
    attention = torch.nn.MultiheadAttention(64, 4, batch_first=True)
    weights = encoders.attention_weights(state.part("resampler."), "attn", "x")
    weights = {name.removeprefix("x."): value for name, value in weights.items()}
    x = torch.func.functional_call(attention, weights, (asks, seen, seen))[0]
    x = encoders.norm(state, "resampler.ln_post", x) @ p["resampler.proj.weight"].T
    seen = x.reshape(samples, -1, 64)

    text = p["llm.model.embed_tokens.weight"][batch["input"]]
    sequence = torch.cat([text[:, :1], seen, text[:, 1:]], 1)
    decoder = llama.decoder(state.buffers)
    logits = torch.func.functional_call(decoder, state.part("llm."), (), kwargs={"inputs_embeds": sequence}).logits
    told = torch.cat([logits[:, :1], logits[:, 1 + seen.shape[1]:]], 1)
    loss = torch.nn.functional.cross_entropy(told.flatten(0, 1), batch["target"].flatten())
    golden.write(state, loss, f"torch.nn {torch.__version__}, transformers {transformers.__version__}")
