/** The branches, dots and labels of a beam's tree. */

import type { BeamNode } from "../../answers";
import { branch, type Layout, type Placed } from "./layout";

interface NodesProps {
  layout: Layout;
  upTo: number; // the last step that is shown
  path: Set<number>; // the nodes of the chosen hypothesis
}

export function Nodes({ layout, upTo, path }: NodesProps) {
  const shown = layout.nodes.filter(({ node }) => node.step <= upTo);
  return (
    <>
      <g>
        {[...shown].sort(byWeight(path)).map((placed) => (
          <Branch key={placed.node.id} placed={placed} layout={layout} chosen={path.has(placed.node.id)} />
        ))}
      </g>
      {shown.map((placed) => (
        <Node key={placed.node.id} placed={placed} chosen={path.has(placed.node.id)} />
      ))}
    </>
  );
}

/** What matters most is drawn last, over the rest. */
function byWeight(path: Set<number>): (a: Placed, b: Placed) => number {
  const weight = ({ node }: Placed) => (path.has(node.id) ? 2 : node.fate === "pruned" ? 0 : 1);
  return (a, b) => weight(a) - weight(b);
}

function Branch({ placed, layout, chosen }: { placed: Placed; layout: Layout; chosen: boolean }) {
  if (!placed.parent) return null;
  const { fate, log_prob } = placed.node;
  return (
    <path
      class={`branch branch-${fate}${chosen ? " branch-chosen" : ""}`}
      stroke-width={(1 + (fate === "pruned" ? 1 : 4) * Math.exp(log_prob)).toFixed(2)}
      d={branch(placed, layout.columns)}
    />
  );
}

function Node({ placed, chosen }: { placed: Placed; chosen: boolean }) {
  const { node, x, y, label } = placed;
  return (
    <g
      class={`node node-${node.fate}${chosen ? " node-chosen" : ""}`}
      data-node={node.id}
      data-parent={node.parent ?? ""}
      data-token={node.token}
      data-step={node.step}
      data-log-prob={node.log_prob}
      data-total={node.total}
      data-score={node.score}
      data-fate={node.fate}
      data-chosen={chosen ? "" : undefined}
      transform={`translate(${x} ${y.toFixed(1)})`}
    >
      <rect class="node-ground" x="-7" y="-9" width={placed.width + 20} height="18" />
      <Dot fate={node.fate} />
      <text class="token" x="12" y="4">
        {label}
      </text>
    </g>
  );
}

/** A shape for each fate, so that colour and dashes are not all that tells them apart. */
export function Dot({ fate }: { fate: BeamNode["fate"] }) {
  if (fate === "finished") return <rect class="dot" x="-4.5" y="-4.5" width="9" height="9" />;
  if (fate === "cut") return <path class="dot-cross" d="M-4 -4L4 4M-4 4L4 -4" />;
  return <circle class="dot" r={fate === "pruned" ? 3 : 4} />;
}
