/** Where the cells of a heat-map stand. */

import { max, min } from "d3-array";
import type { HeatProps } from "../heat";

export interface Grid {
  left: number;
  top: number;
  width: number;
  height: number;
  cellWidth: number;
  cellHeight: number;
}

const TALL = 360; // pixels that many rows share

export function gridOf({ rows, rowLabels, columnLabels }: HeatProps, width: number): Grid {
  const columns = Math.max(1, rows[0]?.length ?? 0);
  const longest = max(rowLabels ?? [String(rows.length)], (label) => Math.min(24, [...label].length)) ?? 1;
  const [left, right] = [Math.max(34, 12 + 7.5 * longest), 10];
  const cellWidth = Math.min(26, Math.max(1, (width - left - right) / columns));
  const cellHeight = Math.min(22, Math.max(2, TALL / Math.max(1, rows.length)));
  const top = 20;
  const labels = columnLabels || columns > 1 ? 34 : 18;
  return { left, top, width, height: top + rows.length * cellHeight + labels, cellWidth, cellHeight };
}

/** The values at the ends of the colours: as given, else those of the cells. */
export function limits({ rows, diverging, low, high }: HeatProps): [number, number] {
  const least = low ?? min(rows, (row) => min(row, (value) => value ?? undefined)) ?? 0;
  const most = high ?? max(rows, (row) => max(row, (value) => value ?? undefined)) ?? 1;
  if (!diverging) return least < most ? [least, most] : [least, least + 1];
  const far = Math.max(Math.abs(least), Math.abs(most)) || 1;
  return [-far, far];
}

/** A value as a place on its ramp: 0 to 1, or -1 to 1 when it diverges; null has none. */
export function place(value: number | null, low: number, high: number, diverging: boolean): number | null {
  if (value === null || !Number.isFinite(value)) return null;
  const share = Math.min(1, Math.max(0, (value - low) / (high - low)));
  return diverging ? 2 * share - 1 : share;
}

/** Every how many labels there is room for one. */
export function every(step: number, room: number): number {
  const least = Math.max(1, Math.ceil(room / step));
  return [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((n) => n >= least) ?? least;
}
