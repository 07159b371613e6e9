"""Golden losses and first gradients of the small presets, in fp64 by implementations that are not ours.

    REPROBENCH_ORACLE=DIR worker_test "[oracle]"     writes what the worker starts from
    python ci/oracles/run.py DIR                     writes ci/oracles/golden/*.json
"""

import sys

import clip
import fusion
import gpt2
import llama
import mlp
import published
import resnet
import vlm

for oracle in (mlp.base, mlp.small, mlp.sgd, mlp.adamw, mlp.mid, resnet.tiny, resnet.full, gpt2.full, llama.full, llama.lora, clip.full, fusion.full, vlm.full,
               published.gpt2, published.decoder, published.clip, published.resnet):
    oracle(sys.argv[1])
