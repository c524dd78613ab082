/** The unrolled graph of a cell: what reads what, and what flows back along each edge. */

import { useId, useMemo, useRef, useState } from "preact/hooks";
import type { GraphEdge, GraphNode } from "../answers";
import { EdgePath, NodeBox } from "./graph/drawing";
import { EdgeList } from "./graph/list";
import { type Places, placesOf } from "./graph/places";
import { wayOf, waysOf } from "./graph/ways";
import { useWidth } from "./size";

interface GraphProps {
  title: string;
  nodes: GraphNode[];
  edges: GraphEdge[];
  backward: boolean;
}

export function Graph({ title, nodes, edges, backward }: GraphProps) {
  const [box, width] = useWidth<HTMLDivElement>();
  const places = useMemo(() => placesOf(nodes, edges, width), [nodes, edges, width]);
  const [active, setActive] = useState<number | null>(null);
  const [edge, setEdge] = useState<GraphEdge | null>(null);
  const stop = useRef(nodes[0]?.id ?? 0); // the node that Tab goes to
  const picture = useRef<SVGSVGElement>(null);
  const head = useId();
  const shown = active !== null && places.nodes.has(active) ? active : null;
  const ways = useMemo(() => waysOf(edges, shown), [edges, shown]);
  const keys = (event: KeyboardEvent) => {
    const to = shown === null ? null : beside(places, shown, event.key);
    if (to === null) return;
    event.preventDefault();
    picture.current?.querySelector<SVGGElement>(`[data-node="${to}"]`)?.focus();
  };
  const enter = (id: number) => {
    stop.current = id;
    setActive(id);
    setEdge(null);
  };
  const first = places.nodes.has(stop.current) ? stop.current : (nodes[0]?.id ?? 0);
  return (
    <figure class="chart graph" data-role="graph" data-way={backward ? "backward" : "forward"}>
      <figcaption>{title}</figcaption>
      <div ref={box} class="scroll">
        <svg
          ref={picture}
          width={places.width}
          height={places.height}
          role="group"
          aria-label={gist(nodes, edges, backward)}
          onKeyDown={keys}
        >
          <defs>
            <marker
              id={head}
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="7"
              markerHeight="7"
              orient="auto-start-reverse"
            >
              <path class="graph-head" d="M0 0L8 4L0 8Z" />
            </marker>
          </defs>
          <Bands places={places} />
          <g class={shown === null ? "" : "graph-dimmed"}>
            {edges.map((each, k) => (
              <EdgePath
                key={k}
                edge={each}
                places={places}
                way={wayOf(each, ways)}
                backward={backward}
                head={head}
                onEnter={() => setEdge(each)}
              />
            ))}
            {[...places.nodes.values()].map((place) => (
              <NodeBox
                key={place.node.id}
                place={place}
                way={
                  place.node.id === shown
                    ? "here"
                    : ways.after.has(place.node.id)
                      ? "after"
                      : ways.before.has(place.node.id)
                        ? "before"
                        : ""
                }
                stop={place.node.id === first}
                onEnter={() => enter(place.node.id)}
                onLeave={() => setActive(null)}
              />
            ))}
          </g>
        </svg>
      </div>
      <EdgeList nodes={nodes} edges={edges} active={shown} edge={edge} backward={backward} />
    </figure>
  );
}

function gist(nodes: GraphNode[], edges: GraphEdge[], backward: boolean): string {
  const steps = Math.max(0, ...nodes.map(({ step }) => step));
  const way = backward ? "gradients flow back along them" : "values flow along them";
  return `A graph of ${nodes.length} nodes over ${steps} steps, and ${edges.length} edges: ${way}. Arrow keys go from node to node.`;
}

function Bands({ places }: { places: Places }) {
  return (
    <g aria-hidden="true">
      {places.bands.map(({ step, left, right }) => (
        <g key={step}>
          <rect class="graph-band" x={left} y={4} width={right - left} height={places.bottom - 4} rx={6} />
          <text class="tick" x={left + 8} y={20}>
            {step === 0 ? "start" : `step ${step}`}
          </text>
        </g>
      ))}
      <text class="tick" x={8} y={places.bottom + 20}>
        parameters, the same at every step
      </text>
    </g>
  );
}

/** The nearest node in the direction of an arrow key. */
function beside(places: Places, from: number, key: string): number | null {
  const way = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[key];
  const here = places.nodes.get(from);
  if (!way || !here) return null;
  const [dx = 0, dy = 0] = way;
  let [best, least]: [number | null, number] = [null, Infinity];
  for (const [id, place] of places.nodes) {
    const [x, y] = [place.x - here.x, place.y - here.y];
    const along = x * dx + y * dy;
    const aside = Math.abs(x * dy) + Math.abs(y * dx);
    if (along < 4 || along + 2.5 * aside >= least) continue;
    [best, least] = [id, along + 2.5 * aside];
  }
  return best;
}
