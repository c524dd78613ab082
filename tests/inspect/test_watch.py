"""Recordings: replayed lines are those that ran, gradients are those of the loss."""

import pytest
import torch
from torch import Tensor, nn

import unspool as us
from unspool.engine import unwatched, watching
from unspool.inspect.watch import in_words, watch

B, I, H, T = 3, 4, 5, 6


class TwoDeep(nn.Module):
    """A stack by hand, with a loss at every step: what is injected at h_t goes everywhere."""

    def __init__(self, kind: us.CellType):
        super().__init__()
        self.below, self.above = kind(I, H), kind(H, H)
        self.double()

    def forward(self, xs: Tensor) -> Tensor:
        ys, _ = us.unfold(self.below, xs)
        zs, state = us.unfold(self.above, ys)
        return loss_of(ys, zs, state[0])

    def by_hand(self, xs: Tensor, t: int, pushed: Tensor) -> Tensor:
        """The same, step by step, with something added to the lower h_t as it is made."""
        one = [xs.new_zeros(B, n) for n in self.below.state_sizes.values()]
        two = [xs.new_zeros(B, n) for n in self.above.state_sizes.values()]
        ys, zs = [], []
        for step, x in enumerate(xs):
            _, one = self.below.step(x, one)
            one = list(one)
            one[0] = one[0] + pushed if step == t else one[0]
            z, two = self.above.step(one[0], two)
            ys.append(one[0])
            zs.append(z)
        return loss_of(torch.stack(ys), torch.stack(zs), two[0])


def loss_of(ys: Tensor, zs: Tensor, last: Tensor) -> Tensor:
    weights = torch.linspace(-1, 1, zs.numel(), dtype=zs.dtype).view_as(zs)
    return (weights * zs.sin()).sum() + (ys**2).sum() + last.prod(1).sum()


OWN = us.cell("f = sigmoid(W_f @ x + U_f @ h)\nh' = f * h + (1 - f) * sin(W @ x + b)", name="own")


@pytest.mark.parametrize("kind", [us.cells.LSTM, us.cells.GRU, us.cells.Elman, OWN])
@pytest.mark.parametrize("training", [True, False])
def test_gradients_of_each_step_against_finite_differences(
    kind: us.CellType, training: bool
) -> None:
    model = TwoDeep(kind).train(training)
    xs = torch.randn(T, B, I, dtype=torch.float64)
    with watch(model) as seen:
        loss = model(xs)
    seen.backward(loss)
    assert [layer.name for layer in seen.layers] == ["below", "above"]
    found = seen.gradient(0, "h")
    eps, wanted = 1e-6, torch.zeros(T, B, H, dtype=torch.float64)
    with torch.no_grad():
        for t in range(T):
            for unit in range(B * H):
                push = torch.zeros(B * H, dtype=torch.float64)
                push[unit] = eps
                up = model.by_hand(xs, t, push.view(B, H))
                down = model.by_hand(xs, t, -push.view(B, H))
                wanted[t].view(-1)[unit] = (up - down) / (2 * eps)
    assert (found - wanted).norm() <= 1e-7 * wanted.norm()


@pytest.mark.parametrize("backend", ["reference", "planned", "cpu"])
def test_the_direct_gradient_is_told_from_what_the_loop_sends(backend: str) -> None:
    """The last output is the last state too: neither path may be counted twice."""
    cell = us.cells.Elman(I, H).double()
    xs = torch.randn(T, B, I, dtype=torch.float64)
    with watch(cell) as seen:
        ys, state = us.unfold(cell, xs, backend=backend)
        loss = ys[-1].sum() + 3 * state.h.sum()
    seen.backward(loss)
    assert torch.allclose(seen.gradient(0, "h")[-1], torch.full((B, H), 4.0, dtype=torch.float64))


def test_lines_are_those_that_ran_with_lengths_direction_and_dropout() -> None:
    dropout = us.Dropout(between=0.3, recurrent=0.4, weights=0.2, zoneout=0.2)
    layers = us.Recurrent(us.cells.LSTM, I, H, 2, bidirectional=True, dropout=dropout).double()
    xs = torch.randn(T, B, I, dtype=torch.float64)
    lengths = torch.tensor([6, 2, 4])
    with watch(layers) as seen:
        _, _, recorded = layers(xs, lengths=lengths, record=("f", "c"))
    titles = ["layer 1", "layer 1, backwards", "layer 2", "layer 2, backwards"]
    assert [layer.title for layer in seen.layers] == titles
    flat = [direction for layer in recorded for direction in layer]
    for k, lines in enumerate(flat):
        for name in ("f", "c"):
            assert torch.allclose(seen.line(k, name), lines[name], atol=1e-12)


def test_a_bias_gradient_is_the_sum_of_its_steps() -> None:
    """dL/db_n = sum_t dL/dn_t (1 - n_t^2), whatever stands above and below; padding adds none."""
    layers = us.Recurrent(us.cells.GRU, I, H, 2, bidirectional=True, dropout=0.2).double()
    xs = torch.randn(T, B, I, dtype=torch.float64)
    xs[4:, 1] = torch.nan
    with watch(layers) as seen:
        ys, _ = layers(xs, lengths=torch.tensor([6, 4, 5]))
        loss = ys.cos().sum()
    seen.backward(loss)
    assert all(p.grad is None for p in layers.parameters())  # they were not asked for
    with watch(layers) as seen:
        ys, _ = layers(xs, lengths=torch.tensor([6, 4, 5]))
        ys.cos().sum().backward()
    for k, layer in enumerate(seen.layers):
        steps = seen.gradient(k, "n") * (1 - seen.line(k, "n") ** 2)
        wanted = layers.get_parameter(f"{layer.name}.b_n").grad
        assert wanted is not None
        assert torch.allclose(steps.sum((0, 1)), wanted, atol=1e-10)


def test_calls_of_one_cell_follow_each_other() -> None:
    cell = us.cells.GRU(I, H).double()
    xs = torch.randn(T, B, I, dtype=torch.float64)
    _, _, whole = us.unfold(cell, xs, record=("r",))
    with watch(cell) as seen:
        _, state = us.unfold(cell, xs[:2])
        us.unfold(cell, xs[2:], state)
    assert torch.allclose(seen.line(0, "r"), whole["r"], atol=1e-12)


def test_gradients_of_steps_taken_one_by_one() -> None:
    """A walk of single steps has the gradients of the whole."""
    layers = us.Recurrent(us.cells.LSTM, I, H).double()
    xs = torch.randn(T, B, I, dtype=torch.float64)
    found = []
    for walked in (True, False):
        with watch(layers) as seen:
            if walked:
                walk, state, ys = layers.walker(), None, []
                for x in xs:
                    y, state = walk(x, state)
                    ys.append(y)
                loss = torch.stack(ys).sin().sum()
            else:
                loss = layers(xs)[0].sin().sum()
        seen.backward(loss)
        found.append([seen.gradient(0, name) for name in ("h", "c", "f")])
    for one, other in zip(*found, strict=True):
        assert torch.allclose(one, other, atol=1e-12)


def test_torch_layouts_are_seen_too() -> None:
    layers = us.nn.LSTM(I, H, num_layers=2)
    with watch(layers) as seen:
        layers(torch.randn(T, B, I))
    assert len(seen.layers) == 2
    assert seen.line(1, "c").shape == (T, B, H)


def test_a_gradient_that_comes_through_the_last_state_alone() -> None:
    layers = us.Recurrent(us.cells.LSTM, I, H).double()
    xs = torch.randn(T, B, I, dtype=torch.float64)
    with watch(layers) as seen:
        _, state = layers(xs)
        loss = state[0][0].c.sum()
    seen.backward(loss)
    assert torch.allclose(seen.gradient(0, "c")[-1], torch.ones(B, H, dtype=torch.float64))


def test_under_autocast_lines_are_those_of_the_loop() -> None:
    model = nn.Sequential(nn.Linear(I, I), us.Recurrent(us.cells.GRU, I, H))
    with torch.autocast("cpu", torch.bfloat16), watch(model) as seen:
        ys, _ = model(torch.randn(T, B, I))
    assert torch.allclose(seen.line(0, "h"), ys, atol=1e-2)


def test_watching_leaves_torch_func_alone() -> None:
    cell, xs = us.cells.GRU(I, H), torch.randn(T, B, I)

    def loss(xs: Tensor) -> Tensor:
        return us.unfold(cell, xs)[0].sum()

    alone = torch.func.grad(loss)(xs)
    with watch(cell):
        assert torch.equal(torch.func.grad(loss)(xs), alone)


def test_nothing_is_seen_outside_or_unwatched() -> None:
    cell, xs = us.cells.Elman(I, H), torch.randn(T, B, I)
    with watching() as seen:
        with unwatched():
            us.unfold(cell, xs)
        us.unfold(cell, xs)
    us.unfold(cell, xs)
    assert len(seen) == 1


def test_mistakes_are_told() -> None:
    cell, xs = us.cells.Elman(I, H), torch.randn(T, B, I)
    with watch(cell) as seen:
        ys, _ = us.unfold(cell, xs)
    with pytest.raises(ValueError, match="no line 'f'; it has h"):
        seen.line(0, "f")
    with pytest.raises(ValueError, match="layers 0 to 0"):
        seen.line(1, "h")
    with pytest.raises(ValueError, match="send a loss back first"):
        seen.gradient(0, "h")
    with watch(cell) as empty:
        pass
    with pytest.raises(ValueError, match="no cell ran"):
        empty.line(0, "h")
    with torch.no_grad(), watch(cell) as blind:
        us.unfold(cell, xs)
    with pytest.raises(ValueError, match="gradients enabled"):
        blind.backward(ys.sum())


def test_names_in_words() -> None:
    assert in_words("net.encoder.layers.0.cells.1") == "encoder, layer 1, backwards"
    assert in_words("forwards.layers.2.cells.0") == "layer 3"
    assert in_words("backwards.layers.0.cells.0") == "backwards, layer 1"
    assert in_words("readers.1.layers.0.cells.0") == "reader 2, layer 1"
    assert in_words("net.decoder.layers.layers.0.cells.0") == "decoder, layer 1"
