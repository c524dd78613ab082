/** The edges at a node in words: what it reads and what reads it, with the derivatives. */

import type { GraphEdge, GraphNode } from "../../answers";

interface ListProps {
  nodes: GraphNode[];
  edges: GraphEdge[];
  active: number | null;
  edge: GraphEdge | null; // the one under the pointer
  backward: boolean;
}

export function EdgeList({ nodes, edges, active, edge, backward }: ListProps) {
  const labels = new Map(nodes.map(({ id, label }) => [id, label]));
  const rows =
    active !== null
      ? edges.filter(({ source, target }) => source === active || target === active)
      : edge
        ? [edge]
        : [];
  const name = active !== null ? labels.get(active) : null;
  return (
    <div class="graph-list" data-role="graph-list" aria-live="polite">
      {rows.length === 0 && (
        <p class="faint">
          Point at a node, or go to it with the arrow keys: what it changes is drawn in blue, what it depends on in
          orange and dashed. Each edge has its derivative.
        </p>
      )}
      {name && (
        <p>
          {backward ? (
            <>
              The gradient of <b class="mono">{name}</b>
            </>
          ) : (
            <b class="mono">{name}</b>
          )}
        </p>
      )}
      <ul>
        {rows.map((each) => (
          <li
            key={`${each.source} ${each.target}`}
            data-source={labels.get(each.source)}
            data-target={labels.get(each.target)}
          >
            <span class="mono">
              {backward
                ? `${labels.get(each.source)} ← ${labels.get(each.target)}`
                : `${labels.get(each.source)} → ${labels.get(each.target)}`}
            </span>
            {each.label && <span class="faint">through {each.label}</span>}
            <span class="mono graph-derivative">{backward ? `× ${each.derivative}` : `∂: ${each.derivative}`}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
