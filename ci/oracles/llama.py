"""LLaMA by `transformers`, LoRA by `peft`."""

import peft
import torch
import transformers
from transformers.models.llama import modeling_llama

import golden

modeling_llama.torch = golden.Doubled()  # its RMSNorm and softmax widen to float32


def is_table(key):
    return key in ("rotary.cos", "rotary.sin")


def decoder(buffers):
    """The tiny decoder, and the angles of rotary positions as they stand in the worker's state."""
    config = transformers.LlamaConfig(
        vocab_size=260, hidden_size=64, intermediate_size=176, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, rms_norm_eps=1e-5, rope_theta=10000.0, tie_word_embeddings=False,
        max_position_embeddings=256, attn_implementation="eager",
    )
    model = transformers.LlamaForCausalLM(config).double()
    frequencies = 10000.0 ** (-torch.arange(0, 16, 2) / 16)
    angles = torch.arange(buffers["rotary.cos"].shape[0])[:, None] * frequencies
    for table, exact in ((buffers["rotary.cos"], angles.cos()), (buffers["rotary.sin"], angles.sin())):
        assert (table - exact).abs().max() < 6.1e-8, "a table of angles is off by more than its rounding to float32"
    both = [torch.cat([buffers[name]] * 2, -1)[None] for name in ("rotary.cos", "rotary.sin")]
    model.model.rotary_emb.forward = lambda x, positions: tuple(t[:, : x.shape[1]] for t in both)
    return model


def run(model, names, state):
    """`names`: the implementation's name of a parameter of ours."""
    parameters = {names(key): value for key, value in state.parameters.items()}
    assert set(parameters) == {name for name, _ in model.named_parameters() if name in parameters}
    missing = {name for name, value in model.named_parameters() if name not in parameters}
    assert all(".original_module." in name for name in missing), missing
    logits = torch.func.functional_call(model, parameters, (), kwargs={"input_ids": state.batch["input"]}).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), state.batch["target"].flatten())


def full(folder):
    state = golden.State(folder, "llama-tiny", is_table)
    golden.write(state, run(decoder(state.buffers), lambda key: key, state), f"transformers {transformers.__version__}")


def lora(folder):
    state = golden.State(folder, "llama-tiny-lora", is_table)
    targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    saved = ["embed_tokens", "lm_head"]
    model = peft.get_peft_model(
        decoder(state.buffers),
        peft.LoraConfig(r=4, lora_alpha=8, lora_dropout=0.0, target_modules=targets, modules_to_save=saved),
    ).double()
    trained = {name for name, value in model.named_parameters() if value.requires_grad}

    def name_of(key):
        module, last = key.rsplit(".", 1)
        parent = module.rsplit(".", 1)[-1]
        if parent in ("lora_A", "lora_B"):
            return f"base_model.model.{module}.default.{last}"
        if parent in targets:
            return f"base_model.model.{module}.base_layer.{last}"
        return f"base_model.model.{module}." + (f"modules_to_save.default.{last}" if parent in saved else last)

    for key, value in state.parameters.items():
        value.requires_grad_(name_of(key) in trained)
    golden.write(state, run(model, name_of, state), f"peft {peft.__version__}, transformers {transformers.__version__}")
