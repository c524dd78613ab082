/** The way back through this cell beside two that everyone knows. */

import type { Flow, Gradients } from "../../answers";
import { frozen, offers, useAnswer } from "../../ask";
import { Lines, type Series } from "../../charts/lines";
import { Notice } from "../../parts/notice";
import { Panel } from "../../parts/panel";

const BESIDE = ["elman", "lstm"];

interface Asked {
  cells: string[];
  steps: number;
  hidden: number;
  gain: number;
  seed: number;
}

export function Compare({ flow }: { flow: Flow }) {
  const steps = flow.measured.length - 1;
  const hidden = flow.states[0]?.units[0]?.length ?? 0;
  const { answer } = useAnswer<Gradients>("gradients", othersOf(steps, hidden));
  const others = (answer?.flows ?? []).filter(
    ({ name, error }) => error === "" && BESIDE.includes(name) && name !== flow.name,
  );
  if (flow.error)
    return (
      <Panel title="Gradient flow">
        <Notice kind="error" title="The gradients could not be followed">
          {flow.error}
        </Notice>
      </Panel>
    );
  const all = [flow, ...others];
  return (
    <Panel
      title="Gradient flow"
      note="An error after the last step, followed back, on the same input and from the same seed."
    >
      <div class="flow-pair">
        <Lines
          title="From step t to the last"
          x="step t"
          y="|∂s_T / ∂s_t|, spectral norm"
          logY
          height={260}
          series={all.map(measured)}
        />
        <Lines
          title="Gradient of the loss"
          x="step t"
          y="|∂L / ∂s_t|"
          logY
          height={260}
          series={all.flatMap(gradients)}
        />
      </div>
    </Panel>
  );
}

/** In a report: what it holds of the same size, whatever else was asked with it. */
function othersOf(steps: number, hidden: number): Asked | null {
  if (steps < 1) return null;
  if (!frozen) return { cells: BESIDE, steps, hidden, gain: 1, seed: 0 };
  return (
    offers<Asked>("gradients").find(
      (asked) => asked.steps === steps && asked.hidden === hidden && asked.gain === 1,
    ) ?? null
  );
}

function measured(flow: Flow): Series {
  return { name: flow.name, points: flow.measured.map((value, k) => [k, value]) };
}

function gradients(flow: Flow): Series[] {
  return flow.states.map(({ name, norms }) => ({
    name: `${flow.name}, ${name}`,
    points: norms.map((value, k) => [k + 1, value]),
  }));
}
