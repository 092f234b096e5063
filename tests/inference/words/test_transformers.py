"""With the `words` encoding the networks are GPT-2 and BERT: the engine agrees with transformers' own classes."""

import numpy as np
import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel

from oclgen.checkpoint import Checkpoint
from oclgen.encoding.vocabulary import ACTIONS
from oclgen.inference.words.heuristic_engine import NativeHeuristicEngine
from oclgen.inference.words.policy_engine import NativePolicyEngine
from tests.inference.words.models import VOCABULARY, random_checkpoint, random_prompt

TOLERANCE = 1e-4


def gpt2(checkpoint: Checkpoint) -> GPT2LMHeadModel:
    settings, weights = checkpoint.settings, checkpoint.weights
    config = GPT2Config(
        vocab_size=VOCABULARY.size,
        n_positions=settings.max_prompt + settings.max_plan,
        n_embd=settings.width,
        n_layer=settings.layers,
        n_head=settings.heads,
        n_inner=settings.inner,
    )
    tensors = {"transformer.wte.weight": "token.weight", "transformer.wpe.weight": "position.weight"}
    tensors |= {f"transformer.ln_f.{kind}": f"norm.{kind}" for kind in ("weight", "bias")}
    tensors["lm_head.weight"] = "token.weight"
    names = {"ln_1": "norm1", "attn.c_attn": "attention", "attn.c_proj": "projection"}
    names |= {"ln_2": "norm2", "mlp.c_fc": "up", "mlp.c_proj": "down"}
    for layer in range(settings.layers):
        for theirs, ours in names.items():
            for kind in ("weight", "bias"):
                tensors[f"transformer.h.{layer}.{theirs}.{kind}"] = f"block.{layer}.{ours}.{kind}"
    model = GPT2LMHeadModel(config)
    # transformers keeps GPT-2's matrices the other way round
    model.load_state_dict(
        {
            theirs: torch.tensor(weights[ours].T if ".c_" in theirs and ours.endswith("weight") else weights[ours])
            for theirs, ours in tensors.items()
        },
        strict=False,
    )
    return model.eval()


def bert(checkpoint: Checkpoint) -> BertModel:
    settings, weights = checkpoint.settings, checkpoint.weights
    config = BertConfig(
        vocab_size=VOCABULARY.size,
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        intermediate_size=settings.inner,
        max_position_embeddings=settings.max_prompt,
    )
    tensors = {
        "embeddings.word_embeddings.weight": torch.tensor(weights["token.weight"]),
        "embeddings.position_embeddings.weight": torch.tensor(weights["position.weight"]),
        "embeddings.token_type_embeddings.weight": torch.zeros(2, settings.width),
    }
    names = {"embeddings.LayerNorm": "embedding_norm", "pooler.dense": "pooler"}
    for layer in range(settings.layers):
        prefix = f"encoder.layer.{layer}"
        names |= {f"{prefix}.attention.output.dense": f"block.{layer}.projection"}
        names |= {f"{prefix}.attention.output.LayerNorm": f"block.{layer}.norm1"}
        names |= {f"{prefix}.intermediate.dense": f"block.{layer}.up", f"{prefix}.output.dense": f"block.{layer}.down"}
        names |= {f"{prefix}.output.LayerNorm": f"block.{layer}.norm2"}
        for kind in ("weight", "bias"):
            parts = torch.tensor(weights[f"block.{layer}.attention.{kind}"]).chunk(3)
            for part, name in zip(parts, ("query", "key", "value"), strict=True):
                tensors[f"{prefix}.attention.self.{name}.{kind}"] = part
    for theirs, ours in names.items():
        for kind in ("weight", "bias"):
            tensors[f"{theirs}.{kind}"] = torch.tensor(weights[f"{ours}.{kind}"])
    model = BertModel(config)
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    assert not unexpected and all("position_ids" in name or "token_type_ids" in name for name in missing)
    return model.eval()


def test_words_policy_is_gpt2() -> None:
    rng = np.random.default_rng(0)
    checkpoint = random_checkpoint("policy", layers=3, heads=4, width=64, inner=256)
    prompt, plan = random_prompt(rng, 37), rng.integers(0, VOCABULARY.size, 20, np.int32)
    session = NativePolicyEngine(checkpoint).open([prompt], [1], len(plan))
    probabilities = [session.probabilities()[0]]
    for token in plan:
        session.feed(np.array([token], np.int32))
        probabilities.append(session.probabilities()[0])
    sequence = torch.tensor(np.concatenate([prompt[:, 0], [ACTIONS], plan]), dtype=torch.long)
    with torch.no_grad():
        expected = gpt2(checkpoint)(sequence[None]).logits[0, len(prompt) :].softmax(-1).numpy()
    assert np.abs(np.stack(probabilities) - expected).max() < TOLERANCE


def test_words_heuristic_is_bert_with_a_classifier() -> None:
    rng = np.random.default_rng(0)
    checkpoint = random_checkpoint("heuristic", layers=3, heads=4, width=64, inner=256)
    prompts = [random_prompt(rng, length) for length in (1, 23, 60)]
    model = bert(checkpoint)
    classifier = torch.tensor(checkpoint.weights["classifier.weight"])
    bias = torch.tensor(checkpoint.weights["classifier.bias"])
    actual = NativeHeuristicEngine(checkpoint).distributions(prompts)
    for prompt, row in zip(prompts, actual, strict=True):
        with torch.no_grad():
            pooled = model(torch.tensor(prompt[:, 0], dtype=torch.long)[None]).pooler_output[0]
        expected = (classifier @ pooled + bias).softmax(-1).numpy()
        assert np.abs(row - expected).max() < TOLERANCE
