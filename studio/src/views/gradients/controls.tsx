/** Which cells, how many steps and units, how large the recurrent weights. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Run } from "../../answers";
import { offers } from "../../ask";
import { Field } from "../../parts/field";
import { Select } from "../../parts/select";
import { Checks, listed } from "../checks";
import type { FlowLink } from "../gradients";
import { NumberField } from "../number";

export interface Asked {
  cells: string[];
  steps: number;
  hidden: number;
  gain: number;
  keep: number | null; // null: as the cell starts by itself
  seed: number;
}

interface ControlsProps {
  link: FlowLink;
  change: (to: Partial<FlowLink>) => void;
}

const MOST = 8; // cells side by side
const PAUSE = 400; // ms without a key before equations are asked about

export function FlowControls({ run, link, change }: ControlsProps & { run: Run }) {
  return (
    <>
      <div class="controls">
        <Checks
          label="Cells"
          names={run.cells.map(({ name }) => name)}
          chosen={listed(link.cells)}
          most={link.own.trim() === "" ? MOST : MOST - 1}
          onChange={(cells) => change({ cells: cells.join(",") })}
        />
      </div>
      <div class="controls flow-controls">
        <Own text={link.own} onChange={(own) => change({ own })} />
        <NumberField
          label="Steps T"
          value={link.steps}
          low={1}
          high={256}
          whole
          onChange={(steps) => change({ steps, t: -1 })}
        />
        <NumberField
          label="Hidden units"
          value={link.hidden}
          low={1}
          high={64}
          whole
          onChange={(hidden) => change({ hidden })}
        />
        <NumberField
          label="Gain of recurrent weights"
          value={link.gain}
          low={0}
          high={10}
          onChange={(gain) => change({ gain })}
        />
        <NumberField
          label="Bias of gates that keep the state"
          value={link.keep}
          low={-10}
          high={10}
          onChange={(keep) => change({ keep })}
        />
        <NumberField
          label="Seed"
          value={link.seed}
          low={0}
          high={1000000}
          whole
          onChange={(seed) => change({ seed })}
        />
        <HeatScale link={link} change={change} />
      </div>
    </>
  );
}

function Own({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  const [draft, setDraft] = useState(text);
  const timer = useRef(0);
  useEffect(() => setDraft(text), [text]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const typed = (to: string) => {
    setDraft(to);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => onChange(to), PAUSE);
  };
  return (
    <Field label="Equations of your own cell">
      <textarea
        class="mono flow-own"
        rows={3}
        spellcheck={false}
        placeholder="h' = tanh(W @ x + U @ h + b)"
        value={draft}
        onInput={(event) => typed(event.currentTarget.value)}
      />
    </Field>
  );
}

function HeatScale({ link, change }: ControlsProps) {
  return (
    <Select
      label="Colours of the heat maps"
      value={link.scale}
      onChange={(scale) => change({ scale })}
      options={[
        { value: "each", label: "each step by its own largest" },
        { value: "overall", label: "the same for all steps" },
      ]}
    />
  );
}

export function StoredFlows({ link, change }: ControlsProps) {
  const stored = offers<Asked>("gradients");
  return (
    <div class="controls">
      {stored.length > 1 && (
        <Select
          label="Experiment"
          value={String(link.pick)}
          onChange={(pick) => change({ pick: Number(pick), t: -1 })}
          options={stored.map((asked, k) => ({ value: String(k), label: told(asked) }))}
        />
      )}
      {stored.length === 1 && <p class="faint">{told(stored[0]!)}</p>}
      {stored.length > 0 && <HeatScale link={link} change={change} />}
    </div>
  );
}

function told({ cells, steps, hidden, gain, keep, seed }: Asked): string {
  const names = cells.map((cell) => (/[='\n]/.test(cell) ? "your own" : cell)).join(", ");
  const bias = keep === null ? "" : `, bias of keeping ${keep}`;
  return `${names}: ${steps} steps, ${hidden} units, gain ${gain}${bias}, seed ${seed}`;
}
