/** What the colours of a heat-map mean. */

import { diverging, sequential, short } from "../scale";

interface RampProps {
  low: number;
  high: number;
  diverging: boolean;
  dark: boolean;
}

const STEPS = 11;

export function Ramp({ low, high, diverging: both, dark }: RampProps) {
  return (
    <span class="ramp">
      {short(low, 3)}
      <svg width={STEPS * 9} height="12" aria-hidden="true">
        {Array.from({ length: STEPS }, (_, k) => {
          const t = k / (STEPS - 1);
          const fill = both ? diverging(2 * t - 1, dark) : sequential(t, dark);
          return <rect key={k} x={k * 9} width="9" height="12" fill={fill} />;
        })}
      </svg>
      {short(high, 3)}
    </span>
  );
}
