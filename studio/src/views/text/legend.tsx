/** What the colours mean: a ramp with its numbers, or the steps of ranks with their counts. */

import type { Num } from "../../answers";
import { short } from "../../charts/scale";
import { useDark } from "../../theme";
import { RANKS, type Scale, rankClass, tone } from "./colouring";

const STEPS = 24;

interface LegendProps {
  scale: Scale;
  values: Num[] | null;
  name: string;
  note: string;
}

export function Legend({ scale, values, name, note }: LegendProps) {
  if (scale.kind === "ranks") return <RankLegend values={values ?? []} note={note} />;
  const [low, high] = scale.kind === "diverging" ? [-scale.most, scale.most] : [scale.low, scale.high];
  return <Ramp low={low} high={high} name={name} note={note} />;
}

function Ramp({ low, high, name, note }: { low: number; high: number; name: string; note: string }) {
  const dark = useDark();
  const from = low < 0 ? -1 : 0;
  const cells = Array.from({ length: STEPS + 1 }, (_, k) => from + ((1 - from) * k) / STEPS);
  return (
    <div class="text-legend" data-role="legend">
      <span class="faint">{name}</span>
      <span class="mono">{short(low, 3)}</span>
      <svg width={200} height={16} role="img" aria-label={`Colours from ${short(low, 3)} to ${short(high, 3)}`}>
        {cells.map((t, k) => (
          <rect key={k} x={k * 8} width={8} height={16} fill={tone(t, dark)} />
        ))}
        <rect class="text-legend-edge" x={0.5} y={0.5} width={199} height={15} />
      </svg>
      <span class="mono">{short(high, 3)}</span>
      {low < 0 && <span class="faint">orange below zero, blue above</span>}
      {note && <span class="faint">{note}</span>}
    </div>
  );
}

/** The first step holds the likeliest symbol too; it is counted apart as well. */
function RankLegend({ values, note }: { values: Num[]; note: string }) {
  const dark = useDark();
  const counts = RANKS.map(() => 0);
  let first = 0;
  for (const rank of values) {
    if (rank === null) continue;
    counts[rankClass(rank)]! += 1;
    if (rank === 1) first += 1;
  }
  const all = Math.max(values.length, 1);
  return (
    <div class="text-ranks" data-role="legend">
      {RANKS.map((step, k) => (
        <div key={step.name} class="text-rank" data-role="rank-count" data-name={step.name} data-value={counts[k]}>
          <span class="text-rank-name">
            {step.letter}) {step.name}
          </span>
          <svg
            class="text-rank-bar"
            height={18}
            role="img"
            aria-label={`${step.name}: ${counts[k]} of ${values.length}`}
          >
            <rect class="text-rank-floor" width="100%" height={18} />
            <rect width={`${(100 * counts[k]!) / all}%`} height={18} fill={dark ? step.dark : step.light} />
            <rect
              class="text-rank-mark"
              width={`${(100 * counts[k]!) / all}%`}
              y={18 - step.bar}
              height={step.bar}
            />
          </svg>
          <span class="mono">
            {counts[k]} ({((100 * counts[k]!) / all).toFixed(1)}%)
          </span>
        </div>
      ))}
      <p class="faint">
        {first} of {values.length} symbols were the model's first choice{note && `; ${note}`}. The line below a
        symbol grows with the step.
      </p>
    </div>
  );
}
