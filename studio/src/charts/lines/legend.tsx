/** Which line is which. */

import type { Series } from "../lines";
import { COLOURS } from "../scale";
import { dashes } from "./plot";

export function LinesLegend({ series }: { series: Series[] }) {
  if (series.length < 2) return null;
  return (
    <ul class="legend">
      {series.map((each, at) => ({ each, index: each.hue ?? at })).map(({ each, index }) => (
        <li key={each.name}>
          <svg width="28" height="10" aria-hidden="true">
            <line
              class={`line line-${index % COLOURS}${each.faint ? " line-faint" : ""}`}
              stroke-dasharray={dashes(each, index, series)}
              x1="1"
              x2="27"
              y1="5"
              y2="5"
            />
          </svg>
          <bdi>{each.name}</bdi>
        </li>
      ))}
    </ul>
  );
}
