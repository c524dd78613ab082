/** The Gradients view: how far an error goes back, in which cell, and what clipping saves. */

import type { Gradients, Run } from "../answers";
import { frozen, offers, useAnswer } from "../ask";
import { Lines } from "../charts/lines";
import { useLink } from "../link";
import { Notice } from "../parts/notice";
import { Panel } from "../parts/panel";
import { listed } from "./checks";
import { CliffPanel } from "./gradients/cliff";
import { type Asked, FlowControls, StoredFlows } from "./gradients/controls";
import { FlowCard } from "./gradients/flow";
import { ReluPanel } from "./gradients/relu";
import { held } from "./held";
import { Slider } from "./slider";
import "./common.css";
import "./gradients.css";

const DEFAULTS = {
  cells: "elman,gru,lstm",
  own: "",
  steps: 128,
  hidden: 32,
  gain: 1,
  keep: 1, // as cells start by themselves
  seed: 0,
  t: -1, // -1: three quarters of the way
  scale: "each",
  pick: 0,
};
export type FlowLink = typeof DEFAULTS;

export function GradientsView({ run }: { run: Run }) {
  const [link, change] = useLink(DEFAULTS);
  const params = paramsOf(link);
  const { answer, error, waiting } = useAnswer<Gradients>("gradients", held("gradients", params));
  return (
    <>
      <Panel
        title="An error goes back through time"
        note="One error is injected after the last step T and followed back, in every cell on the same input and from the same seed."
      >
        {frozen ? (
          <StoredFlows link={link} change={change} />
        ) : (
          <FlowControls run={run} link={link} change={change} />
        )}
        {error && (
          <Notice kind="error" title="The gradients could not be computed">
            {error}
          </Notice>
        )}
        {!params && (
          <Notice kind="empty" title="No cell is chosen">
            Tick a cell, or write the equations of one: its gradients then stand here.
          </Notice>
        )}
        {!answer && waiting && (
          <Notice kind="busy" title="Following the error back">
            Longer sequences and more units take longer.
          </Notice>
        )}
        {params && answer && <Flows answer={answer} link={link} change={change} waiting={waiting} />}
      </Panel>
      <CliffPanel />
      <ReluPanel />
    </>
  );
}

function paramsOf(link: FlowLink): Asked | null {
  if (frozen) return offers<Asked>("gradients")[link.pick] ?? offers<Asked>("gradients")[0] ?? null;
  const own = link.own.trim() === "" ? [] : [link.own];
  const cells = [...listed(link.cells), ...own];
  const { steps, hidden, gain, seed } = link;
  const keep = link.keep === DEFAULTS.keep ? null : link.keep;
  return cells.length > 0 ? { cells, steps, hidden, gain, keep, seed } : null;
}

interface FlowsProps {
  answer: Gradients;
  link: FlowLink;
  change: (to: Partial<FlowLink>) => void;
  waiting: boolean;
}

function Flows({ answer, link, change, waiting }: FlowsProps) {
  const good = answer.flows.filter((flow) => flow.error === "");
  const last = Math.max(0, ...good.map((flow) => flow.measured.length - 1));
  const t = link.t < 0 ? Math.round(0.75 * last) : Math.min(link.t, last);
  const mark = (step: number) => change({ t: step });
  const rows = 4 + 2 * Math.max(1, ...good.map((flow) => flow.states.length)); // a card's, so that they stand level
  return (
    <div aria-busy={waiting}>
      {good.length > 1 && (
        <Lines
          title="How much of a change at step t reaches the last state"
          x="step t"
          y="|∂s_T / ∂s_t|, spectral norm"
          logY
          height={260}
          marker={t}
          onMark={mark}
          series={good.map((flow) => ({ name: flow.name, points: flow.measured.map((value, k) => [k, value]) }))}
        />
      )}
      <div class="flow-slider">
        <Slider label="Step t" value={t} low={0} high={last} onChange={mark} />
      </div>
      <div class="flow-cards" style={{ "--rows": rows }}>
        {answer.flows.map((flow, k) => (
          <FlowCard key={`${k} ${flow.name}`} flow={flow} t={t} onMark={mark} each={link.scale === "each"} />
        ))}
      </div>
    </div>
  );
}
