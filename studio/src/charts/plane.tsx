/** Two axes of numbers, for what is a place in a plane and not a line over steps. */

import { type Scale, ticks } from "./ticks";

export interface Plane {
  x: Scale;
  y: Scale;
  left: number;
  right: number; // places, not widths
  top: number;
  bottom: number;
  height: number;
}

export const ROOM = { left: 58, right: 14, top: 24, bottom: 40 };

export function PlaneAxes({ plane, x, y, grid }: { plane: Plane; x: string; y: string; grid: boolean }) {
  const { left, right, top, bottom, height } = plane;
  return (
    <g aria-hidden="true">
      {ticks(plane.y, false, 44).map(({ at, label }) => (
        <g key={label}>
          {grid && <line class="grid" x1={left} x2={right} y1={at} y2={at} />}
          <line class="axis" x1={left - 4} x2={left} y1={at} y2={at} />
          <text class="tick" x={left - 7} y={at + 4} text-anchor="end">
            {label}
          </text>
        </g>
      ))}
      {ticks(plane.x, false, 72).map(({ at, label }) => (
        <g key={label}>
          {grid && <line class="grid" x1={at} x2={at} y1={top} y2={bottom} />}
          <line class="axis" x1={at} x2={at} y1={bottom} y2={bottom + 4} />
          <text class="tick" x={at} y={bottom + 17} text-anchor={at > right - 12 ? "end" : "middle"}>
            {label}
          </text>
        </g>
      ))}
      <line class="axis" x1={left} x2={right} y1={bottom} y2={bottom} />
      <line class="axis" x1={left} x2={left} y1={top} y2={bottom} />
      <text class="axis-name" x={right} y={height - 5} text-anchor="end">
        {x}
      </text>
      <text class="axis-name" x={4} y={top - 10}>
        {y}
      </text>
    </g>
  );
}

/** The path through points, in order. */
export function through(points: [number, number][], plane: Plane): string {
  return points
    .map(([x, y], k) => `${k === 0 ? "M" : "L"}${plane.x(x).toFixed(1)} ${plane.y(y).toFixed(1)}`)
    .join("");
}
