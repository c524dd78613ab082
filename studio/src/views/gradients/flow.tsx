/** One cell: its gradients by step, its bounds, and what they are at one step. */

import { useMemo } from "preact/hooks";
import type { Flow, Num } from "../../answers";
import { Heat } from "../../charts/heat";
import { Lines, type Series } from "../../charts/lines";
import { Notice } from "../../parts/notice";
import { Singular } from "./singular";

interface CardProps {
  flow: Flow;
  t: number;
  onMark: (t: number) => void;
  each: boolean; // colours of each step by its own largest
}

export function FlowCard({ flow, t, onMark, each }: CardProps) {
  return (
    <section class="flow-card" data-role="flow" data-name={flow.name} aria-label={`Gradients of ${flow.name}`}>
      <h3>{flow.name}</h3>
      {flow.error ? (
        <Notice kind="error" title="This cell could not be built">
          {flow.error}
        </Notice>
      ) : (
        <FlowCharts flow={flow} t={t} onMark={onMark} each={each} />
      )}
    </section>
  );
}

function FlowCharts({ flow, t, onMark, each }: CardProps) {
  const last = flow.measured.length - 1;
  const mark = { marker: Math.min(t, last), onMark };
  return (
    <>
      <Lines title="Gradient of the loss" x="step t" y="|∂L / ∂s_t|" logY series={gradients(flow)} {...mark} />
      <Lines
        title="From step t to the last, and its bounds"
        x="step t"
        y="|∂s_T / ∂s_t|"
        logY
        series={bounds(flow)}
        {...mark}
      />
      <Singular values={flow.singular} t={mark.marker} />
      {flow.states.map((state) => (
        <StateHeat key={state.name} state={state} t={mark.marker} each={each} />
      ))}
    </>
  );
}

/** The gradients begin with the state after the first step: there is none of the initial state. */
function gradients(flow: Flow): Series[] {
  return flow.states.map(({ name, norms }) => ({
    name: `∂L/∂${name}`,
    points: norms.map((value, k) => [k + 1, value]),
  }));
}

function bounds(flow: Flow): Series[] {
  const points = (values: Num[]): [number, Num][] => values.map((value, k) => [k, value]);
  const series: Series[] = [
    { name: "measured", points: points(flow.measured) },
    { name: "product of the steps' norms", points: points(flow.norm_bound), dashed: true },
  ];
  if (flow.bound) series.push({ name: "(γ σ₁)^(T−t)", points: points(flow.bound), dashed: true });
  return series;
}

function StateHeat({ state, t, each }: { state: Flow["states"][number]; t: number; each: boolean }) {
  const rows = useMemo(() => {
    const steps = each ? state.units.map(byLargest) : state.units;
    return (state.units[0] ?? []).map((_, unit) => steps.map((step) => step[unit] ?? null));
  }, [state, each]); // not with every move of the slider
  const columnLabels = useMemo(() => state.units.map((_, k) => String(k + 1)), [state]);
  const now = state.units[t - 1];
  const title = each ? `∂L/∂${state.name}, divided by each step's largest` : `∂L/∂${state.name}`;
  return (
    <>
      <Heat
        title={title}
        x="step"
        y="unit"
        rows={rows}
        columnLabels={columnLabels}
        diverging
        markerColumn={t >= 1 ? t - 1 : undefined}
      />
      {now ? (
        <Heat
          title={`∂L/∂${state.name} at step ${t}, on its own scale`}
          x="unit"
          y="step"
          rows={[now]}
          rowLabels={[String(t)]}
          diverging
        />
      ) : (
        <p class="faint">Step 0 is the initial state: nothing is learned from its gradient.</p>
      )}
    </>
  );
}

function byLargest(step: Num[]): Num[] {
  const largest = Math.max(...step.map((value) => Math.abs(value ?? 0)));
  return largest > 0 ? step.map((value) => (value === null ? null : value / largest)) : step;
}
