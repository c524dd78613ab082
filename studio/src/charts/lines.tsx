/** Lines over a shared x: values by pointer and by keyboard. */

import { useMemo, useState } from "preact/hooks";
import { LinesPlot } from "./lines/plot";
import { LinesLegend } from "./lines/legend";
import { type Frame, frameOf, nearest } from "./lines/frame";
import { short } from "./scale";
import { useWidth } from "./size";

export interface Series {
  name: string;
  points: [number, number | null][]; // by rising x; null breaks the line
  dashed?: boolean;
  faint?: boolean; // thin: another line says it better
  hue?: number; // the number of its colour and dash; its place in the list, if not given
  dots?: boolean;
}

export interface LinesProps {
  title: string;
  x: string;
  y: string;
  series: Series[];
  logX?: boolean;
  logY?: boolean;
  height?: number;
  marker?: number | undefined; // an x to mark
  markerLabel?: string;
  onMark?: (x: number) => void; // by click, or by arrow keys
}

export function Lines(props: LinesProps) {
  const { title, series, height = 220, marker, onMark } = props;
  const [box, width] = useWidth<HTMLDivElement>();
  const [cursor, setCursor] = useState<number | null>(null);
  const { logX, logY } = props;
  const frame = useMemo(
    () => (width > 0 ? frameOf(props, width, height) : null),
    [series, logX, logY, width, height], // not the cursor: it moves often
  );
  const shown = cursor ?? (onMark ? (marker ?? null) : null);

  const point = (event: PointerEvent): number | null => {
    if (!frame) return null;
    const left = (event.currentTarget as Element).getBoundingClientRect().left;
    return nearest(series, frame.x.invert(event.clientX - left), frame.x);
  };
  const keys = (event: KeyboardEvent) => {
    const to = keyTarget(event, series, shown);
    if (to === null) return;
    event.preventDefault();
    setCursor(to);
    onMark?.(to);
  };
  return (
    <figure class="chart" data-role="lines" data-title={title}>
      <figcaption>{title}</figcaption>
      <LinesLegend series={series} />
      <div ref={box} class="chart-box" style={{ minHeight: `${height}px` }}>
        {frame && (
          <svg
            width={width}
            height={height}
            role="img"
            tabIndex={0}
            aria-label={gist(props)}
            onPointerMove={(event) => setCursor(point(event))}
            onPointerLeave={() => setCursor(null)}
            onPointerDown={(event) => {
              const x = point(event);
              if (x !== null) onMark?.(x);
            }}
            onKeyDown={keys}
            onBlur={() => setCursor(null)}
          >
            <LinesPlot frame={frame} lines={props} cursor={cursor} />
          </svg>
        )}
      </div>
      <Readout lines={props} frame={frame} at={shown} />
    </figure>
  );
}

function keyTarget(event: KeyboardEvent, series: Series[], at: number | null): number | null {
  const longest = series.reduce((a, b) => (b.points.length > a.length ? b.points : a), [] as Series["points"]);
  const last = longest.length - 1;
  if (last < 0 || event.ctrlKey || event.altKey || event.metaKey) return null;
  const index = at === null ? -1 : longest.findIndex(([x]) => x >= at);
  const far = Math.max(1, Math.round(last / 10));
  const to = {
    ArrowRight: index + 1,
    ArrowLeft: index < 0 ? last : index - 1,
    PageUp: index + far,
    PageDown: index - far,
    Home: 0,
    End: last,
  }[event.key];
  return to === undefined ? null : longest[Math.min(last, Math.max(0, to))]![0];
}

/** The values at the cursor, in a line that always has its room. */
function Readout({ lines, frame, at }: { lines: LinesProps; frame: Frame | null; at: number | null }) {
  const values =
    frame && at !== null
      ? lines.series.flatMap(({ name, points }) => {
          const found = points[frame.index(points, at)];
          return found && found[0] === at ? [{ name, value: found[1] }] : [];
        })
      : [];
  return (
    <p class="readout" data-role="readout" aria-live="polite">
      {values.length > 0 && `${lines.x} ${short(at)}`}
      {values.map(({ name, value }) => (
        <span key={name} data-name={name} data-value={value ?? ""}>
          {"; "}
          {lines.series.length > 1 ? `${name} ` : `${lines.y} `}
          <b>{short(value)}</b>
        </span>
      ))}
    </p>
  );
}

/** What the chart says, for those who do not see it. */
function gist({ title, x, y, series }: LinesProps): string {
  const said = series.slice(0, 8).map(({ name, points }) => {
    const known = points.filter((point): point is [number, number] => point[1] !== null);
    const [first, last] = [known[0], known.at(-1)];
    if (!first || !last) return `${name}: nothing to draw`;
    return `${name}: ${short(first[1], 3)} at ${short(first[0])}, ${short(last[1], 3)} at ${short(last[0])}`;
  });
  return `${title}. ${y} by ${x}. ${said.join("; ")}. Arrow keys read the values.`;
}
