/** An alignment as a heat-map: which source token each target token was read from. */

import { useMemo, useState } from "preact/hooks";
import { cut, pixels, visible } from "./labels";
import { Ring } from "./ring";
import { short } from "./scale";

interface AlignmentProps {
  source: string[];
  target: string[];
  weights: number[][]; // (target, source)
  title?: string;
}

interface Cell {
  row: number;
  column: number | null; // null: the whole row
}

const CELL = 22;
const LONGEST = 24; // columns of a label
const SLOPE = 0.71; // sine and cosine of the angle at which source labels stand

export function Alignment({ source, target, weights, title = "Alignment" }: AlignmentProps) {
  const [cursor, setCursor] = useState<Cell | null>(null);
  const words = useMemo(() => [source.map(visible), target.map(visible)] as const, [source, target]);
  const [from, to] = words;
  const slanted = from.map((token) => pixels(cut(token, LONGEST)) * SLOPE);
  const left = 20 + Math.max(62, ...to.map((token) => pixels(cut(token, LONGEST))));
  const top = 14 + Math.max(30, ...slanted);
  const [wide, high] = [CELL * from.length, CELL * to.length];
  const overhang = Math.max(...slanted.map((length, at) => (at + 1) * CELL + length)) - wide;
  const cells = useMemo(() => <Cells weights={weights} left={left} top={top} />, [weights, left, top]);

  const point = (event: PointerEvent) => {
    const place = (event.currentTarget as Element).getBoundingClientRect();
    const column = Math.floor((event.clientX - place.left - left) / CELL);
    const row = Math.floor((event.clientY - place.top - top) / CELL);
    const on = row >= 0 && row < to.length && column < from.length;
    setCursor(on ? { row, column: column < 0 ? null : column } : null);
  };
  const keys = (event: KeyboardEvent) => {
    const next = moved(event, cursor, to.length, from.length);
    if (!next) return;
    event.preventDefault();
    setCursor(next);
  };
  return (
    <figure class="chart" data-role="alignment">
      <figcaption>{title}</figcaption>
      <div class="scroll">
        <svg
          width={left + wide + Math.max(12, overhang)}
          height={top + high + 4}
          role="img"
          tabIndex={0}
          aria-label={`${title}. ${inWords(from, to, weights)} Arrow keys read the weights.`}
          onPointerMove={point}
          onPointerLeave={() => setCursor(null)}
          onBlur={() => setCursor(null)}
          onKeyDown={keys}
        >
          <text class="axis-name" x={left - 8} y={top - 20} text-anchor="end">
            source →
          </text>
          <text class="axis-name" x={left - 8} y={top - 5} text-anchor="end">
            target ↓
          </text>
          {from.map((token, at) => (
            <text
              key={at}
              class={`token ${strength(weights, cursor, at)}`}
              transform={`translate(${left + (at + 0.6) * CELL} ${top - 5}) rotate(-45)`}
            >
              {cut(token, LONGEST)}
            </text>
          ))}
          {to.map((token, at) => (
            <text
              key={at}
              class={`token ${cursor && cursor.row !== at ? "token-weak" : ""}`}
              x={left - 8}
              y={top + (at + 0.5) * CELL + 4}
              text-anchor="end"
            >
              {cut(token, LONGEST)}
            </text>
          ))}
          <rect class="floor" x={left} y={top} width={wide} height={high} />
          {cells}
          {cursor && <rect class="heat-mark" x={left} y={top + cursor.row * CELL} width={wide} height={CELL} />}
          {cursor && cursor.column !== null && (
            <Ring x={left + cursor.column * CELL} y={top + cursor.row * CELL} width={CELL} height={CELL} />
          )}
        </svg>
      </div>
      <Readout from={from} to={to} weights={weights} cursor={cursor} />
    </figure>
  );
}

function Cells({ weights, left, top }: { weights: number[][]; left: number; top: number }) {
  return (
    <g>
      {weights.map((row, i) =>
        row.map((weight, j) => (
          <rect
            key={`${i} ${j}`}
            class="heat-fill"
            data-row={i}
            data-column={j}
            data-value={weight}
            x={left + j * CELL + 0.5}
            y={top + i * CELL + 0.5}
            width={CELL - 1}
            height={CELL - 1}
            fill-opacity={weight}
          />
        )),
      )}
    </g>
  );
}

/** While a target token is read, the source tokens that it does not look at step back. */
function strength(weights: number[][], cursor: Cell | null, column: number): string {
  const row = cursor ? weights[cursor.row] : undefined;
  if (!row) return "";
  if (row[column] === Math.max(...row)) return "token-strong";
  return (row[column] ?? 0) < 0.1 ? "token-weak" : "";
}

function moved(event: KeyboardEvent, from: Cell | null, rows: number, columns: number): Cell | null {
  const by = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
  if (!by || event.ctrlKey || event.altKey || event.metaKey) return null;
  if (!from) return { row: 0, column: null };
  const [down = 0, right = 0] = by;
  const column = Math.min(columns - 1, (from.column ?? -1) + right);
  return { row: Math.min(rows - 1, Math.max(0, from.row + down)), column: column < 0 ? null : column };
}

interface ReadoutProps {
  from: readonly string[];
  to: readonly string[];
  weights: number[][];
  cursor: Cell | null;
}

function Readout({ from, to, weights, cursor }: ReadoutProps) {
  const row = cursor ? weights[cursor.row] : undefined;
  if (!cursor || !row) {
    return (
      <p class="readout" data-role="readout" aria-live="polite">
        The stronger the colour, the larger the weight: 0 <i class="ramp-line" /> 1
      </p>
    );
  }
  const best = row.indexOf(Math.max(...row));
  const column = cursor.column ?? best;
  const sum = row.reduce((total, weight) => total + weight, 0);
  return (
    <p
      class="readout"
      data-role="readout"
      aria-live="polite"
      data-row={cursor.row}
      data-column={column}
      data-value={row[column]}
      data-sum={sum}
    >
      <bdi>{to[cursor.row]}</bdi> from <bdi>{from[column]}</bdi>: <b>{short(row[column] ?? null)}</b>
      <span>
        ; most from <bdi>{from[best]}</bdi> ({short(row[best] ?? null, 2)})
      </span>
      <span>; the row sums to {short(sum)}</span>
    </p>
  );
}

/** The strongest weight of each row, for those who do not see the picture. */
function inWords(from: readonly string[], to: readonly string[], weights: number[][]): string {
  const parts = to.map((token, at) => {
    const row = weights[at] ?? [];
    const best = row.indexOf(Math.max(...row));
    return `${token} from ${from[best]} (${short(row[best] ?? null, 2)})`;
  });
  return `Target tokens and the source token that each weighs most: ${parts.join(", ")}.`;
}
