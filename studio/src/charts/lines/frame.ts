/** Where the axes of a line chart stand, and which point is nearest. */

import { bisector } from "d3-array";
import type { LinesProps, Series } from "../lines";
import { type Scale, scaleOver, ticks } from "../ticks";

export interface Frame {
  width: number;
  height: number;
  left: number;
  top: number;
  right: number; // places, not widths
  bottom: number;
  x: Scale;
  y: Scale;
  xTicks: { at: number; label: string }[];
  yTicks: { at: number; label: string }[];
  index: (points: Series["points"], x: number) => number;
}

const closest = bisector((point: [number, number | null]) => point[0]).center;

export function frameOf({ series, logX = false, logY = false }: LinesProps, width: number, height: number): Frame {
  const [top, bottom] = [22, height - 38];
  const y = scaleOver(drawn(series, 1, logX, logY), [bottom, top], logY, true);
  const yTicks = ticks(y, logY, 34);
  const left = 14 + Math.max(24, ...yTicks.map((tick) => 7 * tick.label.length));
  const right = Math.max(left + 40, width - 22);
  const x = scaleOver(drawn(series, 0, logX, logY), [left, right], logX, false);
  const whole = series.every(({ points }) => points.every(([at]) => Number.isInteger(at)));
  const xTicks = ticks(x, logX, 84, whole);
  return { width, height, left, top, right, bottom, x, y, xTicks, yTicks, index: (points, at) => closest(points, at) };
}

function* drawn(series: Series[], axis: 0 | 1, logX: boolean, logY: boolean): Generator<number> {
  for (const { points } of series) {
    for (const point of points) if (visible(point, logX, logY)) yield point[axis]!;
  }
}

/** Whether a point has a place: a log axis has none for 0 and below. */
export function visible([x, y]: [number, number | null], logX: boolean, logY: boolean): boolean {
  return y !== null && Number.isFinite(x) && Number.isFinite(y) && (!logX || x > 0) && (!logY || y > 0);
}

/** The x of the point nearest to a place on the axis; null if there is no point. */
export function nearest(series: Series[], x: number, scale: Scale): number | null {
  let best: number | null = null;
  for (const { points } of series) {
    const found = points[closest(points, x)];
    if (!found) continue;
    if (best === null || Math.abs(scale(found[0]) - scale(x)) < Math.abs(scale(best) - scale(x))) best = found[0];
  }
  return best;
}

/** Of many points in one column of pixels, the first, lowest, highest and last: they look the same. */
export function thinned(points: Series["points"], frame: Frame): Series["points"] {
  if (points.length <= 3 * frame.width) return points;
  const kept: Series["points"] = [];
  let column: Series["points"] = [];
  const flush = () => {
    const first = column[0];
    if (!first) return;
    const known = column.filter((point) => point[1] !== null);
    const low = known.reduce((a, b) => (b[1]! < a[1]! ? b : a), known[0] ?? first);
    const high = known.reduce((a, b) => (b[1]! > a[1]! ? b : a), known[0] ?? first);
    const chosen = new Set([first, low, high, column.at(-1)!]);
    kept.push(...column.filter((point) => chosen.has(point)));
    column = [];
  };
  let at = Number.NaN;
  for (const point of points) {
    const place = Math.floor(frame.x(point[0]));
    if (place !== at) flush();
    at = place;
    column.push(point);
  }
  flush();
  return kept;
}
