/** Numbers in rows and columns as colours: values by pointer and by keyboard. */

import { useState } from "preact/hooks";
import { useDark } from "../theme";
import { CanvasCells, SvgCells } from "./heat/cells";
import { type Grid, gridOf, limits } from "./heat/grid";
import { Ramp } from "./heat/ramp";
import { short } from "./scale";
import { useWidth } from "./size";

export interface HeatProps {
  title: string;
  x: string;
  y: string;
  rows: (number | null)[][];
  rowLabels?: string[];
  columnLabels?: string[];
  diverging?: boolean;
  low?: number;
  high?: number;
  markerColumn?: number | undefined;
  markerRow?: number | undefined;
}

const ELEMENTS = 3000; // more cells than this are painted, not built

interface Cell {
  row: number;
  column: number;
}

export function Heat(props: HeatProps) {
  const { title, x, y, rows } = props;
  const [box, width] = useWidth<HTMLDivElement>();
  const [cursor, setCursor] = useState<Cell | null>(null);
  const dark = useDark();
  const [low, high] = limits(props);
  const grid = width > 0 ? gridOf(props, width) : null;
  const columns = rows[0]?.length ?? 0;
  const Cells = rows.length * columns > ELEMENTS ? CanvasCells : SvgCells;

  const point = (event: PointerEvent) => {
    if (!grid) return;
    const place = (event.currentTarget as Element).getBoundingClientRect();
    const column = Math.floor((event.clientX - place.left - grid.left) / grid.cellWidth);
    const row = Math.floor((event.clientY - place.top - grid.top) / grid.cellHeight);
    const on = row >= 0 && row < rows.length && column >= 0 && column < columns;
    setCursor(on ? { row, column } : null);
  };
  const keys = (event: KeyboardEvent) => {
    const to = moved(event, cursor, rows.length, columns);
    if (!to) return;
    event.preventDefault();
    setCursor(to);
  };
  return (
    <figure class="chart" data-role="heat" data-title={title}>
      <figcaption>{title}</figcaption>
      <div ref={box} class="chart-box">
        {grid && (
          <div
            class="heat"
            role="img"
            tabIndex={0}
            aria-label={`${title}. ${rows.length} rows (${y}), ${columns} columns (${x}), from ${short(low)} to ${short(high)}. Arrow keys read the values.`}
            style={{ height: `${grid.height}px` }}
            onPointerMove={point}
            onPointerLeave={() => setCursor(null)}
            onBlur={() => setCursor(null)}
            onKeyDown={keys}
          >
            <Cells grid={grid} heat={props} low={low} high={high} dark={dark} cursor={cursor} />
          </div>
        )}
      </div>
      <div class="heat-foot">
        <Ramp low={low} high={high} diverging={!!props.diverging} dark={dark} />
        <HeatReadout heat={props} cursor={cursor} />
      </div>
    </figure>
  );
}

function moved(event: KeyboardEvent, from: Cell | null, rows: number, columns: number): Cell | null {
  const by = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
  if (!by || rows === 0 || columns === 0 || event.ctrlKey || event.altKey || event.metaKey) return null;
  if (!from) return { row: 0, column: 0 };
  const [down = 0, right = 0] = by;
  const within = (value: number, count: number) => Math.min(count - 1, Math.max(0, value));
  return { row: within(from.row + down, rows), column: within(from.column + right, columns) };
}

function HeatReadout({ heat, cursor }: { heat: HeatProps; cursor: Cell | null }) {
  if (!cursor) return <p class="readout" data-role="readout" aria-live="polite" />;
  const value = heat.rows[cursor.row]?.[cursor.column] ?? null;
  const row = heat.rowLabels?.[cursor.row] ?? String(cursor.row);
  const column = heat.columnLabels?.[cursor.column] ?? String(cursor.column);
  return (
    <p
      class="readout"
      data-role="readout"
      aria-live="polite"
      data-row={cursor.row}
      data-column={cursor.column}
      data-value={value ?? ""}
    >
      {heat.y} <bdi>{row}</bdi>, {heat.x} <bdi>{column}</bdi>: <b>{short(value)}</b>
    </p>
  );
}

export type { Grid };
