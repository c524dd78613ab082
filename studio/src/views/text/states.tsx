/** The states of a line as points of a plane, in the order of the text, and where they would rest. */

import { useMemo, useRef } from "preact/hooks";
import { scaleLinear } from "d3-scale";
import type { Trajectory } from "../../answers";
import { type Plane, PlaneAxes, ROOM, through } from "../../charts/plane";
import { short } from "../../charts/scale";
import { useWidth } from "../../charts/size";
import { visible } from "./symbols";

const HEIGHT = 380;
const MANY = 1000; // points whose line would hide them
const KINDS = {
  stable: "stable: states come to it",
  saddle: "saddle: in one way, away another",
  unstable: "unstable: states leave it",
};

interface Props {
  answer: Trajectory;
  symbols: string[];
  at: number;
  line: string;
  onSelect: (index: number) => void;
}

export function States({ answer, symbols, at, line, onSelect }: Props) {
  const [box, width] = useWidth<HTMLDivElement>();
  const svg = useRef<SVGSVGElement>(null);
  const { points, fixed, explained } = answer;
  const plane = useMemo(() => planeOf(answer, width), [answer, width]);
  const { x, y } = plane;
  // Not with every move of the cursor: a text may have a hundred thousand states.
  const [path, dots, written] = useMemo(
    () => [
      through(points, plane),
      points.map((point) => `M${x(point[0]).toFixed(1)} ${y(point[1]).toFixed(1)}h0`).join(""),
      points.length < 5000 ? points.map((point) => point.join(",")).join(" ") : undefined,
    ],
    [answer, plane],
  );
  const here = points[Math.min(at, points.length - 1)];
  const pick = (event: MouseEvent) => {
    const corner = svg.current?.getBoundingClientRect();
    if (corner) onSelect(nearest(points, event.clientX - corner.left, event.clientY - corner.top, plane));
  };
  const name = `${points.length} states of ${line} in two principal components, ${fixed.length} fixed points`;
  return (
    <figure class="chart" data-role="states" data-points={written}>
      <figcaption>{line} after each symbol</figcaption>
      <div ref={box} class="chart-box">
        {width > 0 && (
          <svg ref={svg} width={width} height={HEIGHT} role="img" aria-label={name} onClick={pick}>
            <PlaneAxes
              plane={plane}
              grid={true}
              x={`first component, ${percent(explained[0])} of the variance`}
              y={`second component, ${percent(explained[1])} of the variance`}
            />
            <path class={points.length > MANY ? "states-path states-many" : "states-path"} d={path} />
            <path class="states-dots" d={dots} />
            {fixed.map((rest, k) => (
              <Rest key={k} x={x(rest.point[0])} y={y(rest.point[1])} rest={rest} />
            ))}
            {here && <circle class="states-here" cx={x(here[0])} cy={y(here[1])} r={6} />}
            {here && (
              <text
                class="states-name"
                x={x(here[0])}
                y={y(here[1]) - 11}
                text-anchor={x(here[0]) > width / 2 ? "end" : "start"}
              >
                {visible(symbols[at] ?? "")}
              </text>
            )}
          </svg>
        )}
      </div>
      <FixedLegend fixed={fixed} />
    </figure>
  );
}

function planeOf({ points, fixed }: Trajectory, width: number): Plane {
  const all = [...points, ...fixed.map(({ point }) => point)];
  const span = (index: 0 | 1): [number, number] => {
    let [low, high] = [Infinity, -Infinity];
    for (const point of all) [low, high] = [Math.min(low, point[index]), Math.max(high, point[index])];
    const room = (high - low) * 0.06 || 1;
    return low <= high ? [low - room, high + room] : [-1, 1];
  };
  const [left, right] = [ROOM.left, Math.max(width - ROOM.right, ROOM.left + 1)];
  const [top, bottom] = [ROOM.top, HEIGHT - ROOM.bottom];
  const x = scaleLinear().domain(span(0)).range([left, right]);
  const y = scaleLinear().domain(span(1)).range([bottom, top]);
  return { x, y, left, right, top, bottom, height: HEIGHT };
}

function nearest(points: [number, number][], left: number, top: number, { x, y }: Plane): number {
  let [best, least] = [0, Infinity];
  points.forEach((point, k) => {
    const away = Math.hypot(x(point[0]) - left, y(point[1]) - top);
    if (away < least) [best, least] = [k, away];
  });
  return best;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)}%`;
}

/** Shapes, not colours alone: a filled disc, a cross, an open square. */
function Rest({ x, y, rest }: { x: number; y: number; rest: Trajectory["fixed"][number] }) {
  const words = `${rest.kind} fixed point, spectral radius ${short(rest.radius, 3)}, speed ${short(rest.speed, 2)}`;
  return (
    <g
      class={`states-fixed states-${rest.kind}`}
      transform={`translate(${x} ${y})`}
      data-role="fixed"
      data-kind={rest.kind}
      data-value={rest.radius}
    >
      <title>{words}</title>
      <Shape kind={rest.kind} />
    </g>
  );
}

function Shape({ kind }: { kind: keyof typeof KINDS }) {
  if (kind === "stable") return <circle r={6} />;
  if (kind === "unstable") return <rect x={-5.5} y={-5.5} width={11} height={11} />;
  return <path d="M-6 -6L6 6M-6 6L6 -6" />;
}

function FixedLegend({ fixed }: { fixed: Trajectory["fixed"] }) {
  const kinds = (Object.keys(KINDS) as (keyof typeof KINDS)[]).filter((kind) =>
    fixed.some((rest) => rest.kind === kind),
  );
  if (kinds.length === 0)
    return (
      <p class="faint">
        No fixed points to mark: none was found from the states of this text. They are looked for in cells of up to 64
        numbers in all states, for lines that are states.
      </p>
    );
  return (
    <ul class="states-legend">
      {kinds.map((kind) => (
        <li key={kind}>
          <svg width={18} height={18} aria-hidden="true">
            <g class={`states-fixed states-${kind}`} transform="translate(9 9)">
              <Shape kind={kind} />
            </g>
          </svg>
          {KINDS[kind]} ({fixed.filter((rest) => rest.kind === kind).length})
        </li>
      ))}
    </ul>
  );
}
