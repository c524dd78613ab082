/** The tree of a beam search: what was weighed at each step, and what became of it. */

import { useMemo, useRef, useState } from "preact/hooks";
import type { BeamNode } from "../answers";
import { visible } from "./labels";
import { Ring } from "./ring";
import { short } from "./scale";
import { layout, type Layout, type Placed } from "./tree/layout";
import { Dot, Nodes } from "./tree/nodes";

interface TreeProps {
  tree: BeamNode[];
  chosen: number; // the last node of the hypothesis that is looked at
  upTo: number; // the last step that is shown
  pruned: boolean;
  onPick: (node: number) => void;
}

const FATES: Record<BeamNode["fate"], string> = {
  kept: "it was continued",
  pruned: "among the likeliest after its parent, but not among the best of the beam",
  finished: "the end was said",
  cut: "alive when the search stopped",
};

export function Tree({ tree, chosen, upTo, pruned, onPick }: TreeProps) {
  const svg = useRef<SVGSVGElement>(null);
  const [cursor, setCursor] = useState<number | null>(null);
  const placed = useMemo(() => layout(tree, pruned), [tree, pruned]);
  const path = useMemo(() => pathTo(tree, chosen), [tree, chosen]);
  const nodes = useMemo(() => <Nodes layout={placed} upTo={upTo} path={path} />, [placed, upTo, path]);
  const at = cursor === null ? undefined : placed.byId.get(cursor);
  const read = at && at.node.step <= upTo ? at : undefined;

  const hit = (event: Event): number | null => {
    const found = (event.target as Element).closest("[data-node]");
    return found ? Number(found.getAttribute("data-node")) : null;
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter" && read) onPick(read.node.id);
    const next = moved(event, read, placed, upTo);
    if (!next) return;
    event.preventDefault();
    setCursor(next.node.id);
    const shown = svg.current?.querySelector(`[data-node="${next.node.id}"]`);
    shown?.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  return (
    <figure class="chart" data-role="tree">
      <Fates pruned={pruned} left={placed.left} />
      <div class="tree-scroll">
        <svg
          ref={svg}
          width={placed.width}
          height={placed.height}
          role="img"
          tabIndex={0}
          aria-label={gist(tree, chosen)}
          onPointerMove={(event) => setCursor(hit(event))}
          onPointerLeave={() => setCursor(null)}
          onClick={(event) => {
            const node = hit(event);
            if (node !== null) onPick(node);
          }}
          onBlur={() => setCursor(null)}
          onKeyDown={keys}
        >
          <Steps layout={placed} upTo={upTo} />
          {nodes}
          {read && <Ring x={read.x - 8} y={read.y - 9} width={read.width + 24} height={18} />}
        </svg>
      </div>
      <Readout node={read?.node} />
    </figure>
  );
}

function pathTo(tree: BeamNode[], last: number): Set<number> {
  const byId = new Map(tree.map((node) => [node.id, node]));
  const path = new Set<number>();
  for (let node = byId.get(last); node; node = node.parent === null ? undefined : byId.get(node.parent)) path.add(node.id);
  return path;
}

function moved(event: KeyboardEvent, from: Placed | undefined, placed: Layout, upTo: number): Placed | null {
  if (!["ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp", "Home"].includes(event.key)) return null;
  if (event.ctrlKey || event.altKey || event.metaKey) return null;
  if (!from || event.key === "Home") return placed.nodes[0] ?? null;
  if (event.key === "ArrowLeft") return from.parent ?? from;
  if (event.key === "ArrowRight") {
    const children = from.children.filter(({ node }) => node.step <= upTo);
    return children.find(({ node }) => node.fate !== "pruned") ?? children[0] ?? from;
  }
  const column = placed.nodes.filter(({ node }) => node.step === from.node.step);
  return column[column.indexOf(from) + (event.key === "ArrowDown" ? 1 : -1)] ?? from;
}

function Steps({ layout: { columns }, upTo }: { layout: Layout; upTo: number }) {
  return (
    <g aria-hidden="true">
      {columns.map(({ x }, step) => (
        <text key={step} class={`tick ${step > upTo ? "token-weak" : ""}`} x={x - 4} y="14">
          {step === 0 ? "step" : step}
        </text>
      ))}
    </g>
  );
}

function Fates({ pruned, left }: { pruned: boolean; left: number }) {
  const shown = (["kept", "pruned", "finished", "cut"] as const).filter((fate) => pruned || fate !== "pruned");
  return (
    <ul class="legend">
      {shown.map((fate) => (
        <li key={fate}>
          <svg width="36" height="12" aria-hidden="true">
            <line class={`branch branch-${fate}`} x1="1" x2="26" y1="6" y2="6" stroke-width="2" />
            <g class={`node node-${fate}`} transform="translate(30 6)">
              <Dot fate={fate} />
            </g>
          </svg>
          {fate}
          {fate === "pruned" && left > 0 && ` (${left} of the worst left out)`}
        </li>
      ))}
      <li>thicker: likelier</li>
      <li class="legend-chosen">bold: the chosen one</li>
    </ul>
  );
}

function Readout({ node }: { node: BeamNode | undefined }) {
  if (!node || node.parent === null) {
    return (
      <p class="readout" data-role="readout" aria-live="polite">
        {node ? "Here the search starts." : "Point at a node, or use the arrow keys, to read it."}
      </p>
    );
  }
  return (
    <p class="readout" data-role="readout" aria-live="polite" data-node={node.id} data-value={node.score}>
      <b>
        <bdi>{visible(node.token)}</bdi>
      </b>{" "}
      step {node.step}
      <span>
        ; log p <b>{short(node.log_prob)}</b> (p {short(Math.exp(node.log_prob), 3)})
      </span>
      <span>
        ; total <b>{short(node.total)}</b>
      </span>
      <span>
        ; score <b>{short(node.score)}</b>
      </span>
      <span>
        ; {node.fate}: {FATES[node.fate]}
      </span>
    </p>
  );
}

function gist(tree: BeamNode[], chosen: number): string {
  const steps = tree.reduce((most, node) => Math.max(most, node.step), 0);
  const count = (fate: BeamNode["fate"]) => tree.filter((node) => node.fate === fate).length;
  const path = pathTo(tree, chosen);
  const said = tree.filter((node) => path.has(node.id) && node.parent !== null).map((node) => visible(node.token));
  return (
    `Tree of the beam search: ${steps} steps, ${count("finished")} finished, ${count("pruned")} pruned, ` +
    `${count("cut")} cut. The chosen path: ${said.join(" ")}. Arrow keys walk along it.`
  );
}
