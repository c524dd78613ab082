/** The Cell view: equations as you write them, and everything that follows from them. */

import { useRef } from "preact/hooks";
import type { CellAnswer, Run } from "../answers";
import { frozen, offers, useAnswer } from "../ask";
import { Graph } from "../charts/graph";
import { useLink } from "../link";
import { Notice } from "../parts/notice";
import { Panel } from "../parts/panel";
import { Select } from "../parts/select";
import { Compare } from "./cell/compare";
import { Editor } from "./cell/editor";
import { RacePanel } from "./cell/race";
import { Tables } from "./cell/tables";
import { NumberField } from "./number";
import "./common.css";
import "./cell.css";

interface Asked {
  equations: string; // or a built-in name
  input: number;
  hidden: number;
}

const OWN = "your own";

export function CellView({ run }: { run: Run }) {
  const [link, change] = useLink({ ...firstOf(run), input: 32, hidden: 32, backward: false, pick: 0 });
  const stored = offers<Asked>("cell");
  const built = run.cells.find(({ name }) => name === link.cell);
  const text = built?.equations ?? link.equations;
  const typed =
    text.trim() === "" ? null : { equations: built?.name ?? text, input: link.input, hidden: link.hidden };
  const params = frozen ? (stored[link.pick] ?? stored[0] ?? null) : typed;
  const { answer, error, waiting } = useAnswer<CellAnswer>("cell", params);
  const source = run.cells.find(({ name }) => name === params?.equations)?.source;
  const write = (equations: string) => {
    const same = run.cells.find((cell) => cell.equations.trim() === equations.trim());
    change(same ? { cell: same.name, equations: "" } : { cell: "", equations });
  };
  const good = answer && answer.error === null ? answer : null;
  const last = useRef<CellAnswer | null>(null); // while a mistake is mended, what was before it stays
  if (good) last.current = good;
  return (
    <>
      <div class="controls">
        {frozen ? (
          <StoredCells run={run} stored={stored} pick={link.pick} onChange={(pick) => change({ pick })} />
        ) : (
          <>
            <Select
              label="Begin with"
              value={built?.name ?? OWN}
              onChange={(name) =>
                change(name === OWN ? { cell: "", equations: text } : { cell: name, equations: "" })
              }
              options={[OWN, ...run.cells.map(({ name }) => name)].map((name) => ({ value: name, label: name }))}
            />
            <NumberField
              label="Input size"
              value={link.input}
              low={1}
              high={64}
              whole
              onChange={(input) => change({ input })}
            />
            <NumberField
              label="Hidden size"
              value={link.hidden}
              low={1}
              high={64}
              whole
              onChange={(hidden) => change({ hidden })}
            />
          </>
        )}
        {source && <p class="faint cell-source">{source}</p>}
      </div>
      <Editor
        text={frozen ? (answer?.equations ?? "") : text}
        onChange={write}
        error={answer?.error ?? null}
        warnings={answer?.warnings ?? []}
        fixed={frozen}
      />
      {error && (
        <Notice kind="error" title="The cell could not be read">
          {error}
        </Notice>
      )}
      {!params && (
        <Notice kind="empty" title="No equations yet">
          Write a cell, as h' = tanh(W @ x + U @ h + b), or begin with a built-in one.
        </Notice>
      )}
      {!answer && waiting && <Notice kind="busy" title="Reading the equations" />}
      {params && last.current && (
        <div class={good ? "" : "cell-stale"} aria-busy={waiting} data-role="derived" data-stale={!good}>
          {!good && <p class="faint">Below is what followed from the equations before the mistake.</p>}
          <Derived cell={last.current} backward={link.backward} onTurn={(backward) => change({ backward })} />
        </div>
      )}
      {params && <RacePanel run={run} equations={params.equations} broken={!good} />}
    </>
  );
}

/** The run's own cell, else the one that needs the fewest words. */
function firstOf(run: Run): { cell: string; equations: string } {
  if (run.cells.some(({ name }) => name === run.cell)) return { cell: run.cell, equations: "" };
  if (run.equations.trim() !== "") return { cell: "", equations: run.equations };
  return { cell: (run.cells.find(({ name }) => name === "lstm") ?? run.cells[0])?.name ?? "", equations: "" };
}

function Derived({
  cell,
  backward,
  onTurn,
}: {
  cell: CellAnswer;
  backward: boolean;
  onTurn: (backward: boolean) => void;
}) {
  return (
    <>
      <Tables cell={cell} />
      {cell.graph && (
        <Panel
          title="Unrolled graph"
          note="Every value of a few steps is a node; an edge goes from what is read to what reads it."
        >
          <button
            type="button"
            class="graph-turn"
            data-role="turn"
            aria-pressed={backward}
            onClick={() => onTurn(!backward)}
          >
            {backward ? "Gradients, backwards: show forwards" : "Values, forwards: show backwards"}
          </button>
          <Graph
            title={backward ? "What flows back" : "What reads what"}
            nodes={cell.graph.nodes}
            edges={cell.graph.edges}
            backward={backward}
          />
        </Panel>
      )}
      {cell.flow && <Compare flow={cell.flow} />}
    </>
  );
}

interface StoredProps {
  run: Run;
  stored: Asked[];
  pick: number;
  onChange: (pick: number) => void;
}

function StoredCells({ run, stored, pick, onChange }: StoredProps) {
  if (stored.length < 2) return null;
  const names = stored.map(({ equations, input, hidden }, k) => {
    const name = run.cells.find((cell) => cell.name === equations || cell.equations === equations)?.name;
    return { value: String(k), label: `${name ?? OWN}, input ${input}, hidden ${hidden}` };
  });
  return <Select label="Cell" value={String(pick)} onChange={(at) => onChange(Number(at))} options={names} />;
}
