"""The networks against transformers' own classes, and what batches and padding must not change."""

import pytest
import torch
from torch import Tensor

from oclgen.checkpoint import ModelSettings, tensor_shapes
from oclgen.encoding.vocabulary import ACTIONS, Pool, Symbol, Vocabulary
from oclgen.learn.networks.words import HeuristicNetwork, PolicyNetwork

VOCABULARY = Vocabulary(
    domain="toy",
    operators=tuple(Symbol(f"operator{i}", 2) for i in range(4)),
    predicates=tuple(Symbol(f"predicate{i}", i % 3) for i in range(5)),
    constants=(),
    pools=(Pool(("object",), tuple(f"o{i}" for i in range(16)), meaningful=False),),
    left_out=(),
)


def shape(kind: str) -> ModelSettings:
    return ModelSettings(kind, "words", 3, 4, 32, 64, max_prompt=20, max_plan=12, max_cost=17)


def policy() -> PolicyNetwork:
    torch.manual_seed(5)
    network = PolicyNetwork(shape("policy"), VOCABULARY)
    disturb(network)
    return network


def heuristic() -> HeuristicNetwork:
    torch.manual_seed(6)
    network = HeuristicNetwork(shape("heuristic"), VOCABULARY)
    disturb(network)
    return network


def disturb(network: torch.nn.Module) -> None:
    """Large random weights everywhere, so that no term can hide behind its initial value."""
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, mean=0.1, std=0.3)


def word_batch() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    prompt = torch.randint(31, (3, 9, 1), generator=torch.Generator().manual_seed(1))
    plan = torch.randint(31, (3, 6), generator=torch.Generator().manual_seed(2))
    return prompt, torch.tensor([9, 5, 7]), plan, torch.tensor([4, 6, 1])


def test_the_words_policy_is_gpt2() -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    ours = policy()
    config = GPT2Config(vocab_size=31, n_positions=32, n_embd=32, n_layer=3, n_head=4, n_inner=64)
    theirs = GPT2LMHeadModel(config).eval()
    theirs.load_state_dict(gpt2_weights(ours), strict=False)
    prompt, prompt_len, plan, plan_len = word_batch()
    expected = []
    for row in range(3):
        head, tail = prompt[row, : prompt_len[row], 0], plan[row, : plan_len[row]]
        tokens = torch.cat([head, torch.tensor([ACTIONS]), tail[:-1]])
        expected.append(theirs(tokens[None]).logits[0, len(head) :])
    torch.testing.assert_close(ours(prompt, prompt_len, plan, plan_len), torch.cat(expected), rtol=1e-4, atol=1e-4)


def gpt2_weights(network: PolicyNetwork) -> dict[str, Tensor]:
    names = {
        "norm1": "ln_1",
        "attention": "attn.c_attn",
        "projection": "attn.c_proj",
        "norm2": "ln_2",
        "up": "mlp.c_fc",
        "down": "mlp.c_proj",
    }
    own = network.state_dict()
    weights = {
        "transformer.wte.weight": own["token.weight"],
        "lm_head.weight": own["token.weight"],
        "transformer.wpe.weight": own["position.weight"],
        "transformer.ln_f.weight": own["norm.weight"],
        "transformer.ln_f.bias": own["norm.bias"],
    }
    for name, value in own.items():
        if name.startswith("block."):
            _, layer, part, end = name.split(".")
            stored = value.T if value.ndim == 2 else value  # GPT-2's Conv1D keeps [in, out]
            weights[f"transformer.h.{layer}.{names[part]}.{end}"] = stored
    return weights


def test_the_words_heuristic_is_bert() -> None:
    from transformers import BertConfig, BertForSequenceClassification

    ours = heuristic()
    config = BertConfig(
        vocab_size=31,
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=20,
        num_labels=18,
    )
    theirs = BertForSequenceClassification(config).eval()
    missing = theirs.load_state_dict(bert_weights(ours), strict=False)
    assert not missing.missing_keys
    prompt, prompt_len, _, _ = word_batch()
    mask = (torch.arange(9) < prompt_len[:, None]).long()
    expected = theirs(prompt[:, :, 0], attention_mask=mask).logits
    torch.testing.assert_close(ours(prompt, prompt_len), expected, rtol=1e-4, atol=1e-4)


def bert_weights(network: HeuristicNetwork) -> dict[str, Tensor]:
    names = {
        "projection": "attention.output.dense",
        "norm1": "attention.output.LayerNorm",
        "up": "intermediate.dense",
        "down": "output.dense",
        "norm2": "output.LayerNorm",
    }
    own = network.state_dict()
    weights = {
        "bert.embeddings.word_embeddings.weight": own["token.weight"],
        "bert.embeddings.position_embeddings.weight": own["position.weight"],
        "bert.embeddings.token_type_embeddings.weight": torch.zeros(2, 32),
    }
    for name, value in own.items():
        head, end = name.rsplit(".", 1)
        if head.endswith("attention"):
            layer = head.split(".")[1]
            for part, chunk in zip(("query", "key", "value"), value.chunk(3), strict=True):
                weights[f"bert.encoder.layer.{layer}.attention.self.{part}.{end}"] = chunk
        elif head.startswith("block"):
            _, layer, part = head.split(".")
            weights[f"bert.encoder.layer.{layer}.{names[part]}.{end}"] = value
    for end in ("weight", "bias"):
        weights[f"bert.embeddings.LayerNorm.{end}"] = own[f"embedding_norm.{end}"]
        weights[f"bert.pooler.dense.{end}"] = own[f"pooler.{end}"]
        weights[f"classifier.{end}"] = own[f"classifier.{end}"]
    return weights


def test_padding_and_company_do_not_change_a_policys_scores() -> None:
    network = policy()
    prompt, prompt_len, plan, plan_len = word_batch()
    together = network(prompt, prompt_len, plan, plan_len)
    alone = [
        network(
            prompt[i : i + 1, : prompt_len[i]],
            prompt_len[i : i + 1],
            plan[i : i + 1, : plan_len[i]],
            plan_len[i : i + 1],
        )
        for i in range(3)
    ]
    torch.testing.assert_close(together, torch.cat(alone), rtol=1e-4, atol=1e-4)


def test_padding_and_company_do_not_change_a_heuristics_scores() -> None:
    network = heuristic()
    prompt, prompt_len, _, _ = word_batch()
    alone = [network(prompt[i : i + 1, : prompt_len[i]], prompt_len[i : i + 1]) for i in range(3)]
    torch.testing.assert_close(network(prompt, prompt_len), torch.cat(alone), rtol=1e-4, atol=1e-4)


def test_a_plan_token_sees_its_past_only() -> None:
    network = policy()
    prompt, prompt_len, plan, _ = word_batch()
    full = torch.full((3,), 6)
    changed = plan.clone()
    changed[:, 3] = (changed[:, 3] + 1) % 31
    before = network(prompt, prompt_len, plan, full).view(3, 6, -1)
    after = network(prompt, prompt_len, changed, full).view(3, 6, -1)
    torch.testing.assert_close(before[:, :4], after[:, :4], rtol=1e-4, atol=1e-4)
    assert (before[:, 4] - after[:, 4]).abs().amax() > 1e-3


@pytest.mark.parametrize("kind", ["policy", "heuristic"])
def test_parameters_are_the_tensors_of_a_checkpoint(kind: str) -> None:
    network = policy() if kind == "policy" else heuristic()
    actual = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    assert actual == tensor_shapes(shape(kind), VOCABULARY)
