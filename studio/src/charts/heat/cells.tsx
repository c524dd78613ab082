/** The cells of a heat-map: few as elements, many on a canvas. */

import { useLayoutEffect, useRef } from "preact/hooks";
import type { HeatProps } from "../heat";
import { Ring } from "../ring";
import { diverging, sequential } from "../scale";
import { every, type Grid, place } from "./grid";

interface CellsProps {
  grid: Grid;
  heat: HeatProps;
  low: number;
  high: number;
  dark: boolean;
  cursor: { row: number; column: number } | null;
}

export function SvgCells(props: CellsProps) {
  const { grid, heat } = props;
  const gap = Math.min(grid.cellWidth, grid.cellHeight) > 8 ? 1 : 0;
  return (
    <svg width={grid.width} height={grid.height} aria-hidden="true">
      <Labels grid={grid} heat={heat} />
      {heat.rows.map((row, i) =>
        row.map((value, j) => (
          <rect
            key={`${i} ${j}`}
            data-row={i}
            data-column={j}
            data-value={value ?? ""}
            x={grid.left + j * grid.cellWidth}
            y={grid.top + i * grid.cellHeight}
            width={Math.max(0.5, grid.cellWidth - gap)}
            height={grid.cellHeight - gap}
            fill={colourOf(value, props) ?? "none"}
            class={colourOf(value, props) ? undefined : "cell-none"}
          />
        )),
      )}
      <Marks {...props} />
    </svg>
  );
}

export function CanvasCells(props: CellsProps) {
  const { grid, heat, low, high, dark } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    if (canvas.current) paint(canvas.current, props);
  }, [heat.rows, grid.width, grid.height, low, high, dark, heat.diverging]);
  const columns = heat.rows[0]?.length ?? 0;
  const [width, height] = [columns * grid.cellWidth, heat.rows.length * grid.cellHeight];
  return (
    <>
      <canvas
        ref={canvas}
        aria-hidden="true"
        style={{ left: `${grid.left}px`, top: `${grid.top}px`, width: `${width}px`, height: `${height}px` }}
      />
      <svg width={grid.width} height={grid.height} aria-hidden="true">
        <Labels grid={grid} heat={heat} />
        <Marks {...props} />
      </svg>
    </>
  );
}

/** One pixel a cell; the browser stretches it without smoothing. */
function paint(canvas: HTMLCanvasElement, props: CellsProps): void {
  const { rows } = props.heat;
  canvas.width = rows[0]?.length ?? 0;
  canvas.height = rows.length;
  const context = canvas.getContext("2d");
  if (!context) return;
  rows.forEach((row, i) =>
    row.forEach((value, j) => {
      const colour = colourOf(value, props);
      if (!colour) return;
      context.fillStyle = colour;
      context.fillRect(j, i, 1, 1);
    }),
  );
}

function colourOf(value: number | null, { heat, low, high, dark }: CellsProps): string | null {
  const t = place(value, low, high, !!heat.diverging);
  if (t === null) return null;
  return heat.diverging ? diverging(t, dark) : sequential(t, dark);
}

function Labels({ grid, heat }: { grid: Grid; heat: HeatProps }) {
  const { rows, rowLabels, columnLabels } = heat;
  const columns = rows[0]?.length ?? 0;
  const bottom = grid.top + rows.length * grid.cellHeight;
  const longest = Math.max(1, ...(columnLabels ?? [String(columns)]).map((label) => [...label].length));
  const [down, across] = [every(grid.cellHeight, 13), every(grid.cellWidth, Math.min(longest, 12) * 8 + 4)];
  return (
    <g>
      <text class="axis-name" x={4} y={12}>
        {heat.y}
      </text>
      {rows.map((_, i) =>
        i % down ? null : (
          <text key={i} class="tick" x={grid.left - 6} y={grid.top + (i + 0.5) * grid.cellHeight + 4} text-anchor="end">
            {cut(rowLabels?.[i] ?? String(i), 24)}
          </text>
        ),
      )}
      {Array.from({ length: columns }, (_, j) =>
        j % across ? null : (
          <text key={j} class="tick" x={grid.left + (j + 0.5) * grid.cellWidth} y={bottom + 14} text-anchor="middle">
            {cut(columnLabels?.[j] ?? String(j), 12)}
          </text>
        ),
      )}
      <text class="axis-name" x={grid.left} y={grid.height - 3}>
        {heat.x}
      </text>
    </g>
  );
}

function cut(text: string, limit: number): string {
  const letters = [...text];
  return letters.length > limit ? `${letters.slice(0, limit - 1).join("")}…` : text;
}

/** The marked row and column, and the cell that is being read. */
function Marks({ grid, heat, cursor }: CellsProps) {
  const { left, top, cellWidth, cellHeight } = grid;
  const [rows, columns] = [heat.rows.length, heat.rows[0]?.length ?? 0];
  const box = (i: number, j: number, high: number, wide: number) => ({
    x: left + j * cellWidth - 0.5,
    y: top + i * cellHeight - 0.5,
    width: wide * cellWidth + 1,
    height: high * cellHeight + 1,
  });
  return (
    <g>
      {heat.markerRow !== undefined && <rect class="heat-mark" {...box(heat.markerRow, 0, 1, columns)} />}
      {heat.markerColumn !== undefined && <rect class="heat-mark" {...box(0, heat.markerColumn, rows, 1)} />}
      {cursor && <Ring {...box(cursor.row, cursor.column, 1, 1)} />}
    </g>
  );
}
