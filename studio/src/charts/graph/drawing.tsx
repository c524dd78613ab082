/** A node and an edge of an unrolled graph. */

import type { GraphEdge, GraphNode } from "../../answers";
import { NODE_HEIGHT, type Place, type Places } from "./places";

interface NodeProps {
  place: Place;
  way: "here" | "after" | "before" | "";
  stop: boolean; // whether Tab goes to it
  onEnter: () => void;
  onLeave: () => void;
}

export function NodeBox({ place, way, stop, onEnter, onLeave }: NodeProps) {
  const { node, x, y, width } = place;
  const [, base = node.label, step = ""] = (node.kind !== "parameter" && /^(.*)_(\d+)$/.exec(node.label)) || [];
  return (
    <g
      class={`graph-node graph-${node.kind} ${way && `graph-${way}`}`}
      transform={`translate(${x} ${y})`}
      tabIndex={stop ? 0 : -1}
      role="button"
      aria-label={`${node.kind} ${node.label}`}
      data-node={node.id}
      data-label={node.label}
      data-kind={node.kind}
      data-step={node.step}
      data-way={way}
      onPointerEnter={onEnter}
      onFocus={onEnter}
      onPointerLeave={onLeave}
      onBlur={onLeave}
    >
      <Outline kind={node.kind} width={width} />
      <text text-anchor="middle" dy="0.34em">
        {base}
        {step && (
          <tspan class="graph-step" dy="0.4em">
            {step}
          </tspan>
        )}
      </text>
    </g>
  );
}

/** A shape for each kind, so that colour need not tell them apart. */
function Outline({ kind, width }: { kind: GraphNode["kind"]; width: number }) {
  const [left, top] = [-width / 2, -NODE_HEIGHT / 2];
  if (kind === "loss") return <ellipse class="graph-box" rx={width / 2} ry={NODE_HEIGHT / 2} />;
  const round = kind === "parameter" || kind === "input" ? 0 : NODE_HEIGHT / 2;
  return (
    <>
      <rect class="graph-box" x={left} y={top} width={width} height={NODE_HEIGHT} rx={round} />
      {kind === "state" && (
        <rect
          class="graph-inner"
          x={left + 3}
          y={top + 3}
          width={width - 6}
          height={NODE_HEIGHT - 6}
          rx={round - 3}
        />
      )}
    </>
  );
}

interface EdgeProps {
  edge: GraphEdge;
  places: Places;
  way: "after" | "before" | "";
  backward: boolean;
  head: string; // the id of the arrow's head
  onEnter: () => void;
}

export function EdgePath({ edge, places, way, backward, head, onEnter }: EdgeProps) {
  const [from, to] = [places.nodes.get(edge.source), places.nodes.get(edge.target)];
  if (!from || !to) return null;
  const path = curve(from, to);
  const shared = from.node.kind === "parameter" ? "graph-shared" : "";
  const arrow = backward ? { "marker-start": `url(#${head})` } : { "marker-end": `url(#${head})` };
  return (
    <g
      class={`graph-edge ${shared} ${way && `graph-${way}`}`}
      data-source={edge.source}
      data-target={edge.target}
      data-derivative={edge.derivative}
      onPointerEnter={onEnter}
    >
      <path class="graph-arrow" d={path} {...arrow} />
      <path class="graph-hit" d={path}>
        <title>{`${from.node.label} → ${to.node.label}; back along it: ${edge.derivative}`}</title>
      </path>
    </g>
  );
}

function curve(from: Place, to: Place): string {
  if (from.node.kind === "parameter") {
    const [x1, y1, x2, y2] = [from.x, from.y - NODE_HEIGHT / 2 - 2, to.x, to.y + NODE_HEIGHT / 2 + 2];
    const bend = (y1 - y2) / 2;
    return `M${x1} ${y1}C${x1} ${y1 - bend} ${x2} ${y2 + bend} ${x2} ${y2}`;
  }
  if (from.node.kind === "loss") {
    // Up and along, above the losses of later steps.
    const corner = `${from.x} ${to.y + 8}Q${from.x} ${to.y} ${from.x + 8} ${to.y}`;
    return `M${from.x} ${from.y - NODE_HEIGHT / 2}L${corner}L${to.x - to.width / 2 - 2} ${to.y}`;
  }
  if (Math.abs(from.x - to.x) < 4) {
    const up = to.y < from.y ? 1 : -1;
    return `M${from.x} ${from.y - (up * NODE_HEIGHT) / 2}L${to.x} ${to.y + up * (NODE_HEIGHT / 2 + 2)}`;
  }
  const [x1, x2] = [from.x + from.width / 2 + 2, to.x - to.width / 2 - 2];
  const bend = Math.max((x2 - x1) / 2, 14);
  return `M${x1} ${from.y}C${x1 + bend} ${from.y} ${x2 - bend} ${to.y} ${x2} ${to.y}`;
}
