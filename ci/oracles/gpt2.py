"""GPT-2 by `transformers`, whose linear layers hold (in, out)."""

import torch
import transformers

import golden


def full(folder):
    state = golden.State(folder, "gpt2-tiny")
    config = transformers.GPT2Config(vocab_size=256, n_positions=64, n_embd=128, n_layer=4, n_head=4, resid_pdrop=0.0,
                                     embd_pdrop=0.0, attn_pdrop=0.0, attn_implementation="eager")
    model = transformers.GPT2LMHeadModel(config).double()
    linear = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
    parameters = {f"transformer.{k}": v.T if k.endswith(linear) else v for k, v in state.parameters.items()}
    assert set(parameters) == {name for name, _ in model.named_parameters()}
    logits = torch.func.functional_call(model, parameters, (), kwargs={"input_ids": state.batch["input"]}).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), state.batch["target"].flatten())
    golden.write(state, loss, f"transformers {transformers.__version__}")
