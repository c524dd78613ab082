import itertools

import pytest
import torch
from torch import Tensor

from unspool.models.crf import CRF, iob2_transitions

LENGTHS = torch.tensor([4, 1, 0, 3])
LABELS = ["O", "B-X", "I-X"]
IN_A_ROW = (  # 0, 1, 2, 2, ...: tag 2 cannot be reached before the third step
    torch.tensor([True, False, False]),
    torch.tensor([[False, True, False], [False, False, True], [False, False, True]]),
)
MASKS = {"free": None, "IOB2": iob2_transitions(LABELS), "in a row": IN_A_ROW}


def draw(tags: int = 3, allowed: tuple[Tensor, Tensor] | None = None) -> tuple[CRF, Tensor]:
    crf = CRF(tags, allowed).double()
    for parameter in crf.parameters():
        torch.nn.init.normal_(parameter)
    return crf, torch.randn(4, 4, tags, dtype=torch.float64)


def slow_scores(crf: CRF, emissions: Tensor, length: int) -> dict[tuple[int, ...], Tensor]:
    """The score of every sequence of this length that the masks allow; emissions (T, K)."""
    scores = {}
    first, follows = crf.get_buffer("may_start"), crf.get_buffer("may_follow")
    for y in itertools.product(range(crf.tags), repeat=length):
        if not first[y[0]] or not all(follows[a, b] for a, b in itertools.pairwise(y)):
            continue
        score = crf.start[y[0]] + crf.end[y[-1]]
        for t, tag in enumerate(y):
            score = score + emissions[t, tag]
        for a, b in itertools.pairwise(y):
            score = score + crf.transitions[a, b]
        scores[y] = score
    return scores


@torch.no_grad()
@pytest.mark.parametrize("allowed", MASKS.values(), ids=MASKS)
def test_equals_all_sequences_written_out(allowed: tuple[Tensor, Tensor] | None) -> None:
    crf, emissions = draw(3, allowed)
    best = crf.best(emissions, LENGTHS)
    for b, length in enumerate(LENGTHS.tolist()):
        if not length:
            assert best[b] == []
            continue
        scores = slow_scores(crf, emissions[:, b], length)
        total = torch.stack(list(scores.values())).logsumexp(0)
        assert best[b] == list(max(scores, key=lambda y: float(scores[y])))
        for y, score in scores.items():
            tags = torch.zeros(4, 4, dtype=torch.long)
            tags[:length, b] = torch.tensor(y)
            lengths = torch.where(torch.arange(4) == b, LENGTHS, 0)
            found = crf.log_likelihood(emissions, tags, lengths)
            torch.testing.assert_close(found[b], score - total)
            assert not found[lengths == 0].any()


@pytest.mark.parametrize("allowed", MASKS.values(), ids=MASKS)
def test_gradients_are_those_of_the_equations(allowed: tuple[Tensor, Tensor] | None) -> None:
    crf, emissions = draw(3, allowed)
    tags = torch.tensor([[0, 0, 9, 0], [1, 9, 9, 1], [2, 9, 9, 2], [2, 9, 9, 9]])
    names = [name for name, _ in crf.named_parameters()]

    def likelihood(emissions: Tensor, *parameters: Tensor) -> Tensor:
        return torch.func.functional_call(
            Likelihood(crf),
            {f"crf.{name}": p for name, p in zip(names, parameters, strict=True)},
            (emissions, tags),
        )

    values = [p.detach().clone().requires_grad_() for p in crf.parameters()]
    assert torch.autograd.gradcheck(likelihood, (emissions.requires_grad_(), *values))


class Likelihood(torch.nn.Module):
    def __init__(self, crf: CRF):
        super().__init__()
        self.crf = crf

    def forward(self, emissions: Tensor, tags: Tensor) -> Tensor:
        return self.crf.log_likelihood(emissions, tags, LENGTHS)


@pytest.mark.parametrize("filling", [torch.nan, torch.inf, 1e30])
def test_padding_changes_nothing(filling: float) -> None:
    crf, emissions = draw()
    tags = torch.randint(3, (4, 4))
    inside = torch.arange(4)[:, None] < LENGTHS
    padded = torch.where(inside[..., None], emissions, filling).requires_grad_()
    crf.log_likelihood(padded, torch.where(inside, tags, -100), LENGTHS).sum().backward()
    together = [p.grad for p in crf.parameters()]
    assert padded.grad is not None
    assert not padded.grad[~inside].any()
    crf.zero_grad()
    for b, length in enumerate(LENGTHS.tolist()):
        alone = emissions[:length, b : b + 1].clone().requires_grad_()
        one = torch.tensor([length])
        found = crf.log_likelihood(alone, tags[:length, b : b + 1], one)
        found.sum().backward()
        with torch.no_grad():
            torch.testing.assert_close(found[0], crf.log_likelihood(padded, tags, LENGTHS)[b])
        assert alone.grad is not None
        torch.testing.assert_close(padded.grad[:length, b], alone.grad[:, 0])
        assert crf.best(alone, one)[0] == crf.best(padded, LENGTHS)[b]
    for whole, parameter in zip(together, crf.parameters(), strict=True):
        torch.testing.assert_close(whole, parameter.grad)


def test_the_best_of_a_row_is_the_same_alone() -> None:
    crf, _ = draw()
    emissions, lengths = torch.randn(9, 40, 3, dtype=torch.float64), torch.randint(10, (40,))
    for b, (length, best) in enumerate(zip(lengths, crf.best(emissions, lengths), strict=True)):
        assert crf.best(emissions[:length, b : b + 1], length[None]) == [best]


def test_iob2_wants_a_beginning() -> None:
    labels = ["O", "B-X", "I-X", "B-Y", "I-Y"]
    first, follows = iob2_transitions(labels)
    assert [labels[i] for i in first.nonzero()[:, 0]] == ["O", "B-X", "B-Y"]
    forbidden = {(labels[a], labels[b]) for a, b in (~follows).nonzero().tolist()}
    assert forbidden == {
        (a, i) for i in ("I-X", "I-Y") for a in labels if a not in (i, i.replace("I", "B"))
    }


def test_forbidden_tags_are_never_the_best() -> None:
    crf, _ = draw(3, iob2_transitions(LABELS))
    emissions = torch.zeros(50, 1, 3, dtype=torch.float64)
    emissions[..., 2] = 100.0  # I-X everywhere, if it only could
    assert crf.best(emissions, torch.tensor([50])) == [[1] + [2] * 49]


def test_what_cannot_be_is_said() -> None:
    crf, emissions = draw(3, iob2_transitions(LABELS))
    tags = torch.ones(4, 4, dtype=torch.long)
    tags[0, 3] = 2
    with pytest.raises(ValueError, match="tag 2 at step 0 of row 3 may not stand as the first"):
        crf.log_likelihood(emissions, tags, LENGTHS)
    tags[:, 3] = torch.tensor([1, 0, 2, 0])
    with pytest.raises(ValueError, match="tag 2 at step 2 of row 3 may not stand after tag 0"):
        crf.log_likelihood(emissions, tags, LENGTHS)
    tags[1, 0] = 3
    with pytest.raises(ValueError, match="tag 3 at step 1 of row 0: tags run from 0 to 2"):
        crf.log_likelihood(emissions, tags, LENGTHS)
    with pytest.raises(ValueError, match=r"tags have shape \(3, 4\)"):
        crf.log_likelihood(emissions, tags[1:], LENGTHS)
    with pytest.raises(ValueError, match=r"expected \(T, B, 3\)"):
        crf.best(emissions[..., :2], LENGTHS)
    with pytest.raises(ValueError, match="4 numbers from 0 to 4, not"):
        crf.best(emissions, LENGTHS + 1)
    with pytest.raises(ValueError, match="at least 1 tag"):
        CRF(0)
    with pytest.raises(ValueError, match=r"second mask .* shape \(2, 2\)"):
        CRF(3, (torch.ones(3, dtype=torch.bool), torch.ones(2, 2, dtype=torch.bool)))
    chain = torch.tensor([[False, True], [False, False]])
    with pytest.raises(ValueError, match="forbids every sequence of length 3"):
        CRF(2, (torch.tensor([True, False]), chain))
