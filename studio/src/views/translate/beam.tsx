/** The beam's tree, grown as far as its slider says. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { BeamNode } from "../../answers";
import { Tree } from "../../charts/tree";
import { Field } from "../../parts/field";
import { Panel } from "../../parts/panel";

const PACE = 700; // ms a step

interface BeamProps {
  tree: BeamNode[];
  chosen: number;
  grown: number; // the last step that is shown; below 0: all
  pruned: boolean;
  onGrow: (step: number) => void;
  onPruned: (pruned: boolean) => void;
  onPick: (node: number) => void;
}

export function Beam({ tree, chosen, grown, pruned, onGrow, onPruned, onPick }: BeamProps) {
  const last = tree.reduce((most, node) => Math.max(most, node.step), 0);
  const upTo = grown < 0 ? last : Math.min(grown, last);
  const grow = (step: number) => onGrow(step >= last ? -1 : step);
  const [playing, toggle] = usePlay(upTo, last, grow);
  return (
    <Panel
      title="The search"
      note="Each column is a step. What the beam kept goes on to the next; of what it weighed, the rest is pruned."
    >
      <div class="tree-controls">
        <button type="button" data-role="play" onClick={toggle}>
          {playing ? "Pause" : "Grow"}
        </button>
        <div class="grow">
          <Field label={`Up to step ${upTo} of ${last}`}>
            <input
              type="range"
              min="0"
              max={last}
              step="1"
              value={upTo}
              data-role="grow"
              onInput={(event) => grow(Number(event.currentTarget.value))}
            />
          </Field>
        </div>
        <label class="check">
          <input
            type="checkbox"
            checked={pruned}
            data-role="pruned"
            onChange={(event) => onPruned(event.currentTarget.checked)}
          />
          pruned branches
        </label>
      </div>
      <Tree tree={tree} chosen={chosen} upTo={upTo} pruned={pruned} onPick={onPick} />
    </Panel>
  );
}

/** Grows a step at a time until all is there; from the start if it was. */
function usePlay(upTo: number, last: number, grow: (step: number) => void): [boolean, () => void] {
  const [playing, setPlaying] = useState(false);
  const latest = useRef({ upTo, grow });
  latest.current = { upTo, grow };
  useEffect(() => {
    if (!playing) return;
    const timer = setInterval(() => {
      const next = latest.current.upTo + 1;
      latest.current.grow(next);
      if (next >= last) setPlaying(false);
    }, PACE);
    return () => clearInterval(timer);
  }, [playing, last]);
  const toggle = () => {
    if (!playing && upTo >= last) grow(0);
    setPlaying(!playing);
  };
  return [playing, toggle];
}
