/** The largest singular values of what leads from one step to the last, as bars. */

import type { Num } from "../../answers";
import { short } from "../../charts/scale";

const DECADES = 12; // below the largest: smaller ones are as good as nothing

export function Singular({ values, t }: { values: Num[][]; t: number }) {
  const now = values[t] ?? [];
  const [low, high] = limits(values);
  const share = (value: Num) => {
    if (value === null || value <= 0) return 0;
    return Math.min(Math.max((Math.log10(value) - low) / (high - low), 0), 1);
  };
  const one = 100 * share(1);
  return (
    <figure class="chart singular" data-role="singular">
      <figcaption>Largest singular values of ∂s_T/∂s_t at t = {t}</figcaption>
      <ol>
        {now.map((value, k) => (
          <li key={k} data-value={value ?? ""}>
            <span class="faint">σ{k + 1}</span>
            <svg class="bar" height={12} role="img" aria-label={`σ${k + 1}: ${short(value)}`}>
              <rect class="bar-floor" width="100%" height={12} />
              <rect class="bar-fill" width={`${100 * share(value)}%`} height={12} />
              {one > 0 && one < 100 && <line class="bar-mark" x1={`${one}%`} x2={`${one}%`} y1={0} y2={12} />}
            </svg>
            <span class="mono number">{short(value, 3)}</span>
          </li>
        ))}
      </ol>
      <p class="faint">
        Logarithmic, from {short(10 ** low, 2)} to {short(10 ** high, 2)}; the mark is 1.
      </p>
    </figure>
  );
}

/** In powers of ten, over all steps: so the bars shrink and grow as the step changes. */
function limits(values: Num[][]): [number, number] {
  let [low, high] = [0, 0];
  for (const row of values) {
    for (const value of row) {
      if (value === null || value <= 0) continue;
      const power = Math.log10(value);
      [low, high] = [Math.min(low, power), Math.max(high, power)];
    }
  }
  high = Math.ceil(high + 1e-9);
  return [Math.max(Math.floor(low), high - DECADES), high];
}
