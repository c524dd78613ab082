/** The drawing of a line chart: axes, lines, marker, cursor. */

import { line } from "d3-shape";
import { useMemo } from "preact/hooks";
import type { LinesProps, Series } from "../lines";
import { COLOURS, DASHES } from "../scale";
import { type Frame, thinned, visible } from "./frame";

interface PlotProps {
  frame: Frame;
  lines: LinesProps;
  cursor: number | null;
}

export function LinesPlot({ frame, lines, cursor }: PlotProps) {
  const { series, marker, markerLabel } = lines;
  const drawn = useMemo(
    () =>
      series.map((each, index) => (
        <Line key={each.name} series={each} index={each.hue ?? index} frame={frame} lines={lines} />
      )),
    [frame],
  );
  return (
    <>
      <Axes frame={frame} x={lines.x} y={lines.y} />
      {drawn}
      {marker !== undefined && inside(marker, frame) && (
        <Upright x={frame.x(marker)} frame={frame} role="marker" label={markerLabel ?? ""} />
      )}
      {cursor !== null && inside(cursor, frame) && (
        <>
          <Upright x={frame.x(cursor)} frame={frame} role="cursor" label="" />
          {series.map((each, index) => (
            <Dot key={each.name} series={each} index={each.hue ?? index} at={cursor} frame={frame} lines={lines} />
          ))}
        </>
      )}
    </>
  );
}

function inside(x: number, frame: Frame): boolean {
  const place = frame.x(x);
  return place >= frame.left - 1 && place <= frame.right + 1;
}

function Axes({ frame, x, y }: { frame: Frame; x: string; y: string }) {
  const { left, right, top, bottom, height } = frame;
  return (
    <g aria-hidden="true">
      {frame.yTicks.map(({ at, label }) => (
        <g key={label}>
          <line class="grid" x1={left} x2={right} y1={at} y2={at} />
          <text class="tick" x={left - 6} y={at + 4} text-anchor="end">
            {label}
          </text>
        </g>
      ))}
      {frame.xTicks.map(({ at, label }) => (
        <g key={label}>
          <line class="axis" x1={at} x2={at} y1={bottom} y2={bottom + 4} />
          <text class="tick" x={at} y={bottom + 17} text-anchor="middle">
            {label}
          </text>
        </g>
      ))}
      <line class="axis" x1={left} x2={right} y1={bottom} y2={bottom} />
      <text class="axis-name" x={right} y={height - 5} text-anchor="end">
        {x}
      </text>
      <text class="axis-name" x={4} y={top - 10}>
        {y}
      </text>
    </g>
  );
}

interface LineProps {
  series: Series;
  index: number;
  frame: Frame;
  lines: LinesProps;
}

function Line({ series, index, frame, lines }: LineProps) {
  const shown = (point: [number, number | null]) => visible(point, !!lines.logX, !!lines.logY);
  const path = line<[number, number | null]>()
    .defined(shown)
    .x((point) => frame.x(point[0]))
    .y((point) => frame.y(point[1]!))
    .digits(1);
  const kept = thinned(series.points, frame);
  const kind = `line line-${index % COLOURS}${series.faint ? " line-faint" : ""}`;
  const dots = series.dots || series.points.length === 1;
  return (
    <g>
      <path
        class={kind}
        data-name={series.name}
        data-points={series.points.map(([x, y]) => `${x},${y ?? ""}`).join(" ")}
        stroke-dasharray={dashes(series, index, lines.series)}
        d={path(kept) ?? ""}
      />
      {dots &&
        kept
          .filter(shown)
          .map((point) => (
            <circle key={point[0]} class={`fill-${index % COLOURS}`} r="2.5" cx={frame.x(point[0])} cy={frame.y(point[1]!)} />
          ))}
    </g>
  );
}

/**
 * A dash of its own for each line, so that colour is not all that tells them apart; where dashes
 * mean something, only the lines that are to be dashed have one.
 */
export function dashes(series: Series, index: number, all: Series[]): string | undefined {
  if (series.faint) return undefined;
  if (series.dashed) return DASHES[1 + ((index + 3) % 4)];
  if (all.some(({ dashed }) => dashed)) return undefined;
  return DASHES[index % DASHES.length] || undefined;
}

function Upright({ x, frame, role, label }: { x: number; frame: Frame; role: string; label: string }) {
  const [early, late] = [x < frame.left + 90, x > frame.right - 90]; // the name of the axis stands early
  return (
    <g data-role={role} aria-hidden="true">
      <line class={`upright upright-${role}`} x1={x} x2={x} y1={frame.top - 4} y2={frame.bottom} />
      {label && (
        <text class="tick" x={late ? x - 5 : x + 5} y={early ? frame.top + 9 : frame.top - 8} text-anchor={late ? "end" : "start"}>
          {label}
        </text>
      )}
    </g>
  );
}

function Dot({ series, index, at, frame, lines }: LineProps & { at: number }) {
  const point = series.points[frame.index(series.points, at)];
  if (!point || point[0] !== at || !visible(point, !!lines.logX, !!lines.logY)) return null;
  return <circle class={`fill-${index % COLOURS}`} r="3.5" cx={frame.x(at)} cy={frame.y(point[1]!)} />;
}
