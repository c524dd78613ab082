"""The printed derivation: right in form for the cells of the notes, right in numbers for all."""

import re

import pytest
import torch

import unspool as us
from tests.conformance.table import IDS, TABLE, build, inputs
from unspool.equations.evaluate import run
from unspool.equations.explain import Explanation, count_parameters, explain_text, with_softmax
from unspool.equations.explain_latex import explain_latex
from unspool.equations.roles import equations

NOTES = """
h' = tanh(W_h @ h + W_e @ x + b_1)
y: classes
y  = U @ h' + b_2
"""  # Bilici, algorithm 1


def test_the_notes_result_is_printed() -> None:
    """Bilici §5.2: dL/dU is the sum of (yhat - y) h^T; W_h and W_e sum over earlier steps."""
    text = explain_text(Explanation("elman", with_softmax(equations(NOTES)), softmax=True))
    for line in (
        "dU   = sum_t (yhat - target) h'^T",
        "dh'  = dh[t+1] + U.T @ (yhat - target)",
        "da_h = dh' * (1 - h'**2)",
        "dh   = W_h.T @ da_h",
        "dW_h = sum_t da_h h^T",
        "dW_e = sum_t da_h x^T",
        "the losses send e_t = dL_t/dh_t straight to h_t,",
        "so for w = W_h, W_e, b_1, with d+ the dependence within one step alone,",
        "  dL/dw = sum_t sum_(p<=t) e_t @ dh_t/dh_p @ d+h_p/dw",
    ):
        assert f"    {line}\n" in text + "\n"


def test_the_notes_double_sum_is_the_derived_gradient() -> None:
    """Eq 45, 56 and 59 as they stand, against the derived equations, in float64."""
    torch.manual_seed(1)
    cell = us.cell(NOTES)(3, 4, classes=5).double()
    T, xs = 4, torch.randn(4, 1, 3, dtype=torch.float64)
    targets = torch.nn.functional.one_hot(torch.randint(5, (T,)), 5).double()
    ys, _, lines = us.unfold(cell, xs, record=("h",))
    error = (ys[:, 0].softmax(-1) - targets).detach()  # eq 40
    ours = us.bptt(cell, xs, d_ys=error[:, None])
    hs = torch.cat((torch.zeros(1, 4).double(), lines["h"][:, 0].detach()))  # h_0, h_1, ...
    U, W_h = cell.parameter("U").detach(), cell.parameter("W_h").detach()
    d_U = sum(torch.outer(error[t], hs[t + 1]) for t in range(T))
    d_Wh, d_We = torch.zeros(4, 4).double(), torch.zeros(4, 3).double()
    for t in range(T):
        for p in range(t + 1):
            flow = error[t] @ U  # dL_t/dh_t
            for k in range(t, p, -1):  # dh_t/dh_p, in order
                flow = flow @ (torch.diag(1 - hs[k + 1] ** 2) @ W_h)
            direct = flow * (1 - hs[p + 1] ** 2)  # d+h_p/dW: its own step alone
            d_Wh += torch.outer(direct, hs[p])
            d_We += torch.outer(direct, xs[p, 0])
    for name, expected in (("U", d_U), ("W_h", d_Wh), ("W_e", d_We)):
        assert isinstance(expected, torch.Tensor)
        torch.testing.assert_close(ours.parameters[name], expected, rtol=1e-12, atol=1e-12)


def test_a_state_is_read_out_when_there_is_no_y() -> None:
    text = explain_text(Explanation("lstm", with_softmax(us.cells.LSTM.equations), softmax=True))
    assert "    y  = V @ h' + b_y\n" in text
    assert "    dV   = sum_t (yhat - target) h'^T\n" in text


def test_the_lstm_in_full() -> None:
    text = explain_text(Explanation("lstm", us.cells.LSTM.equations), {"input": 3, "hidden": 4})
    for line in (
        "W_i  hidden x input = 4 x 3",
        "12 parameters, 4*hidden*input + 4*hidden*hidden + 4*hidden = 128 numbers",
        "given: dys, the gradient of this step's output, and dh[t+1], dc[t+1], sent back",
        "dh'  = dys + dh[t+1]",
        "dc'  = dc[t+1] + dh' * o * (1 - tanh(c')**2)",
        "da_f = df * f * (1 - f)",
        "dc   = dc' * f",
        "dU_o = sum_t da_o h^T",
    ):
        assert f"    {line}" in text


def test_gradient_names_do_not_collide() -> None:
    text = explain_text(Explanation("cell", equations("dr = W @ x\nr = tanh(dr)\nh' = r + h")))
    assert "    d_r  " in text
    assert "    d_dr " in text


@pytest.mark.parametrize(("kind", "sizes"), TABLE, ids=IDS)
def test_every_cell_can_be_explained(kind: us.CellType, sizes: dict[str, int]) -> None:
    for softmax in (False, True):
        eqs = with_softmax(kind.equations) if softmax else kind.equations
        about = Explanation(kind.name, eqs, softmax)
        text = explain_text(about, {**sizes, "classes": 2})
        for name in eqs.parameters:
            assert re.search(rf"^    d{name} += sum_t \S", text, re.M)
        assert not re.search(r"∂|:keep|\+$", text)
        check_latex(explain_latex(about))
    cell = us.Cell(kind, sizes)
    count = sum(parameter.numel() for parameter in cell.parameters())
    assert count_parameters(kind.equations, sizes) == count


def check_latex(text: str) -> None:
    """Braces pair up, \\left has its \\right, environments close, no bare underscore in words."""
    depth = 0
    for char in re.sub(r"\\[{}]", "", text):
        depth += (char == "{") - (char == "}")
        assert depth >= 0
    assert depth == 0
    assert len(re.findall(r"\\left\b", text)) == len(re.findall(r"\\right\b", text))
    assert text.count(r"\begin") == text.count(r"\end")
    assert not re.search(r"\\mathrm\{[^}]*[^\\}]_", text)
    assert not re.search(r"_\{[^{}]*(\{[^{}]*\}[^{}]*)*\}_", text)  # a double subscript


def test_names_that_the_explanation_uses_itself() -> None:
    """A cell may have lines called ys, target, s or dx; the explanation then finds other words."""
    text = "target = W @ x\nys = V @ target\ns' = U @ ys\nh' = tanh(s') + h\nyhat = ys"
    for softmax in (False, True):
        eqs = with_softmax(equations(text)) if softmax else equations(text)
        shown = explain_text(Explanation("cell", eqs, softmax))
        assert re.search(r"s2 = \((h, s|s, h)\); the losses", shown)
        assert ("yhat2 = softmax(y)" in shown) == softmax
        assert ("given: dys2, the gradient" in shown) != softmax
        assert len(re.findall(r"^    dys +=", shown, re.M)) == 1
    marks = "\n".join(f"{m}x = x" for m in ("d", "d_", "grad_", "grad2_"))
    assert "grad3_h'" in explain_text(Explanation("cell", equations(f"{marks}\nh' = dx + h")))
    with pytest.raises(ValueError, match="the cell uses y for another"):
        with_softmax(equations("h' = y * x + h"))


def test_nested_normalisation_does_not_grow() -> None:
    sizes = []
    for depth in (2, 4, 8):
        text = "layer_norm(" * depth + "x + h" + ")" * depth
        sizes.append(len(explain_text(Explanation("cell", equations(f"h' = {text}")))))
    assert sizes[2] < 3 * sizes[1] < 9 * sizes[0]


@pytest.mark.parametrize(("kind", "sizes"), TABLE, ids=IDS)
def test_the_printed_sum_over_time_is_the_gradient(
    kind: us.CellType, sizes: dict[str, int]
) -> None:
    """The double sum as it is printed, its Jacobians by autograd, against the derived gradient."""
    cell = build(kind, sizes)
    about, eqs, T = Explanation(kind.name, kind.equations), kind.equations, 3
    xs, state = inputs(cell, T=T, B=1)
    bound, parameters = cell.bind(), dict(cell.bind().tensors)
    d_ys = torch.randn(T, 1, cell.output_size, dtype=torch.float64)
    widths = list(cell.state_sizes.values())

    def step(t: int, old: torch.Tensor, new: torch.Tensor | None, weights: dict) -> tuple:
        """One step's states and output; the output reads `new` where that is given."""
        env = {**weights, "x": xs[t], **dict(zip(eqs.states, old.split(widths, -1), strict=True))}
        given = (
            {}
            if new is None
            else dict(zip(eqs.carried.values(), new.split(widths, -1), strict=True))
        )
        for line in eqs.lines:
            if line.name in given:
                env[line.name] = given[line.name]
            else:
                run([line], env, xs[t], bound.size_of)
        return torch.cat([env[name] for name in eqs.carried.values()], -1), env[eqs.output]

    states = [torch.cat(state, -1).detach()]
    for t in range(T):
        states.append(step(t, states[t], None, parameters)[0].detach())
    jacobian = torch.autograd.functional.jacobian
    new_flow, old_flow = about.direct
    e = []
    for t in range(T):
        total = torch.zeros_like(states[0])
        if new_flow:
            total = total + d_ys[t].flatten() @ jacobian(
                lambda s, t=t: step(t, states[t], s, parameters)[1].flatten(), states[t + 1]
            ).flatten(1)
        if old_flow and t + 1 < T:
            total = total + d_ys[t + 1].flatten() @ jacobian(
                lambda s, t=t: step(t + 1, s, states[t + 2], parameters)[1].flatten(), states[t + 1]
            ).flatten(1)
        e.append(total)
    between = [
        jacobian(lambda s, k=k: step(k, s, None, parameters)[0].flatten(), states[k]).flatten(1)
        for k in range(T)
    ]
    ours = us.bptt(cell, xs, state, d_ys=d_ys).parameters
    plain, besides = about.summed_over_time
    for name in plain + besides:
        total = torch.zeros_like(parameters[name])
        for p in range(T):
            own = jacobian(
                lambda w, p=p, n=name: step(p, states[p], None, {**parameters, n: w})[0].flatten(),
                parameters[name],
            ).flatten(1)
            for t in range(p, T):
                flow = e[t]
                for k in range(t, p, -1):
                    flow = flow @ between[k]
                total = total + (flow @ own).view_as(total)
            if name in besides:
                read = jacobian(
                    lambda w, p=p, n=name: step(p, states[p], states[p + 1], {**parameters, n: w})[
                        1
                    ].flatten(),
                    parameters[name],
                ).flatten(1)
                total = total + (d_ys[p].flatten() @ read).view_as(total)
        torch.testing.assert_close(ours[name], total.detach(), rtol=1e-9, atol=1e-11)


def test_latex_of_the_gru() -> None:
    text = explain_latex(Explanation("gru", us.cells.GRU.equations))
    for line in (
        r"r_{t} &= \sigma\left(W_{r} x_{t} + U_{r} h_{t-1} + b_{r}\right) \\",
        r"h_{t} &= z_{t} \odot h_{t-1} + \left(1 - z_{t}\right) \odot n_{t}",
        r"\bar{h}_{t} &= \delta^{\mathrm{out}}_{t} + \overleftarrow{h}_{t} \\",
        r"\bar{U}_{n} &= \sum_t {\bar{a}_{n,t}} \left(r_{t} \odot h_{t-1}\right)^\top \\",
    ):
        assert line in text


def test_functions_of_derivatives_are_explained() -> None:
    text = "h' = relu(W @ concat(x, h)) + abs(b) + minimum(h, 0) + layer_norm(U @ h)"
    about = Explanation("cell", equations(text))
    for shown in (explain_text(about), explain_latex(about)):
        for word in ("step", "sign", "below", "mean", "rstd"):
            assert re.search(rf"{word}\}}?\(\w(, \w)?\)\$? is ", shown)
    assert "part(v, a) is the piece of v" in explain_text(about)
    check_latex(explain_latex(about))
    assert "step(" not in explain_text(Explanation("gru", us.cells.GRU.equations))
