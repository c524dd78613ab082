/** Axes: scales over the values, and marks on them that do not collide. */

import { extent } from "d3-array";
import { type ScaleContinuousNumeric, scaleLinear, scaleLog } from "d3-scale";
import { short } from "./scale";

export type Scale = ScaleContinuousNumeric<number, number>;

/** A scale over the finite values; a log one over those above 0. */
export function scaleOver(values: Iterable<number>, range: [number, number], log: boolean, nice: boolean): Scale {
  let [low, high] = extent(values) as [number | undefined, number | undefined];
  if (low === undefined || high === undefined) [low, high] = log ? [0.1, 1] : [0, 1];
  if (high - low <= 1e-9 * Math.abs(high)) [low, high] = log ? [low / 2, high * 2] : [low - (Math.abs(low) / 10 || 1), high + (Math.abs(high) / 10 || 1)];
  const scale = log ? scaleLog().domain([low, high]).range(range) : scaleLinear().domain([low, high]).range(range);
  if (!nice) return scale;
  return log ? roundLog(scale, low, high) : scale.nice(5);
}

/** Out to powers of ten, unless that would leave most of the chart empty. */
function roundLog(scale: Scale, low: number, high: number): Scale {
  const ends = [10 ** Math.floor(Math.log10(low) + 1e-9), 10 ** Math.ceil(Math.log10(high) - 1e-9)] as const;
  const used = Math.log(high / low) / Math.log(ends[1] / ends[0]);
  return used > 0.6 ? scale.domain(ends) : scale;
}

/** Marks at least `gap` pixels apart, with their labels. */
export function ticks(scale: Scale, log: boolean, gap: number, whole = false): { at: number; label: string }[] {
  const [from, to] = scale.range() as [number, number];
  const count = Math.max(2, Math.floor(Math.abs(to - from) / gap));
  const marks = (log ? logMarks(scale, count) : scale.ticks(count)).filter((mark) => !whole || Number.isInteger(mark));
  const found = marks.map((value) => ({ at: scale(value), label: short(value) }));
  // Round numbers may come closer than was asked for: then every second of them.
  const close = found.length > 1 && Math.abs(found[1]!.at - found[0]!.at) < gap * 0.6;
  return close && !log ? found.filter((_, at) => at % 2 === 0) : found;
}

function logMarks(scale: Scale, count: number): number[] {
  const [low, high] = scale.domain() as [number, number];
  const inside = (marks: number[]) => marks.filter((m) => m >= low * (1 - 1e-9) && m <= high * (1 + 1e-9));
  const exponents: number[] = [];
  for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k++) exponents.push(k);
  const step = [1, 2, 5, 10, 20, 50, 100].find((by) => exponents.length / by <= count) ?? 200;
  const powers = inside(exponents.filter((k) => k % step === 0).map((k) => Number(`1e${k}`)));
  if (powers.length >= 3 || step > 1) return powers;
  const finer = inside(exponents.flatMap((k) => [1, 2, 5].map((m) => Number(`${m}e${k}`))));
  if (finer.length >= 3) return finer.filter((_, at) => at % Math.ceil(finer.length / count) === 0);
  return scaleLinear().domain([low, high]).ticks(Math.min(count, 5));
}
