/** A loss over two parameters as bands of height, and two ways down it. */

import { useId, useMemo } from "preact/hooks";
import { contours } from "d3-contour";
import { scaleLinear } from "d3-scale";
import type { Cliff, Descent, Num } from "../../answers";
import { type Plane, PlaneAxes, ROOM, through } from "../../charts/plane";
import { short } from "../../charts/scale";
import { useWidth } from "../../charts/size";

const HEIGHT = 420;
const BANDS = 14;

export function Surface({ cliff, step }: { cliff: Cliff; step: number }) {
  const [box, width] = useWidth<HTMLDivElement>();
  const clip = useId();
  const bands = useMemo(() => bandsOf(cliff.loss), [cliff]);
  const plane = planeOf(cliff, width);
  const lowest = bands[0]?.value ?? 0;
  const highest = bands.at(-1)?.value ?? 0;
  const name =
    `Loss over ${cliff.x.name} and ${cliff.y.name}, from ${short(lowest, 2)} to above ${short(highest, 2)}. ` +
    `${told("Plain", cliff.plain)} ${told("Clipped", cliff.clipped)}`;
  return (
    <figure class="chart" data-role="surface">
      <figcaption>
        Loss over {cliff.x.name} and {cliff.y.name}; the stronger the grey, the higher
      </figcaption>
      <ul class="legend">
        <li>
          <svg width={34} height={12} aria-hidden="true">
            <path class="descent descent-plain" d="M2 6H32" />
            <circle class="descent-dot-plain" cx={17} cy={6} r={3} />
          </svg>
          plain
        </li>
        <li>
          <svg width={34} height={12} aria-hidden="true">
            <path class="descent descent-clipped" d="M2 6H32" />
            <rect class="descent-dot-clipped" x={14} y={3} width={6} height={6} />
          </svg>
          clipped
        </li>
      </ul>
      <div ref={box} class="chart-box">
        {width > 0 && (
          <svg width={width} height={HEIGHT} role="img" aria-label={name}>
            <clipPath id={clip}>
              <rect
                x={plane.left}
                y={plane.top}
                width={plane.right - plane.left}
                height={plane.bottom - plane.top}
              />
            </clipPath>
            <g clip-path={`url(#${clip})`}>
              <rect
                x={plane.left}
                y={plane.top}
                width={plane.right - plane.left}
                height={plane.bottom - plane.top}
                style={{ fill: "var(--floor)" }}
              />
              {bands.map((band, k) => (
                <path
                  key={k}
                  class="band"
                  d={outline(band.coordinates, cliff, plane)}
                  style={{ fill: grey((k + 1) / BANDS) }}
                >
                  <title>{`loss above ${short(band.value, 3)}`}</title>
                </path>
              ))}
              <Way descent={cliff.plain} name="plain" step={step} plane={plane} />
              <Way descent={cliff.clipped} name="clipped" step={step} plane={plane} />
            </g>
            <PlaneAxes plane={plane} x={cliff.x.name} y={cliff.y.name} grid={false} />
          </svg>
        )}
      </div>
    </figure>
  );
}

/** Grey, because the colours are those of the two ways. */
function grey(share: number): string {
  return `color-mix(in srgb, var(--axis) ${Math.round(85 * share)}%, var(--floor))`;
}

function told(name: string, { losses }: Descent): string {
  return `${name} descent: loss ${short(losses[0] ?? null, 3)} at first, ${short(losses.at(-1) ?? null, 3)} at last.`;
}

function Way({
  descent,
  name,
  step,
  plane,
}: {
  descent: Descent;
  name: "plain" | "clipped";
  step: number;
  plane: Plane;
}) {
  const points = descent.points.slice(0, step + 1);
  const last = points.at(-1);
  return (
    <g data-name={name} data-points={points.map((point) => point.join(",")).join(" ")}>
      <path class="descent descent-edge" d={through(points, plane)} />
      <path class={`descent descent-${name}`} d={through(points, plane)} />
      {points.map(([x, y], k) => (
        <Step key={k} name={name} x={plane.x(x)} y={plane.y(y)} size={2.4} />
      ))}
      {last && <Step name={name} x={plane.x(last[0])} y={plane.y(last[1])} size={6} />}
    </g>
  );
}

/** Discs and squares, so that the two ways differ without their colours. */
function Step({ name, x, y, size }: { name: "plain" | "clipped"; x: number; y: number; size: number }) {
  if (name === "plain") return <circle class="descent-dot-plain" cx={x} cy={y} r={size} />;
  return <rect class="descent-dot-clipped" x={x - size} y={y - size} width={2 * size} height={2 * size} />;
}

function planeOf(cliff: Cliff, width: number): Plane {
  const [left, right] = [ROOM.left, Math.max(width - ROOM.right, ROOM.left + 1)];
  const [top, bottom] = [ROOM.top, HEIGHT - ROOM.bottom];
  const ends = (values: number[]): [number, number] => [values[0] ?? 0, values.at(-1) ?? 1];
  const x = scaleLinear().domain(ends(cliff.x.values)).range([left, right]);
  const y = scaleLinear().domain(ends(cliff.y.values)).range([bottom, top]);
  return { x, y, left, right, top, bottom, height: HEIGHT };
}

interface Band {
  value: number;
  coordinates: number[][][][];
}

/** Bands that hold as many places each: a cliff between two plains would else be one band. */
function bandsOf(loss: Num[][]): Band[] {
  const columns = loss[0]?.length ?? 0;
  const finite = loss
    .flat()
    .filter((value): value is number => value !== null)
    .sort((a, b) => a - b);
  const highest = finite.at(-1) ?? 0;
  const levels = Array.from(
    { length: BANDS },
    (_, k) => finite[Math.floor(((k + 0.5) / BANDS) * finite.length)] ?? 0,
  );
  const values = loss.flat().map((value) => value ?? highest);
  return contours()
    .size([columns, loss.length])
    .thresholds([...new Set(levels)])(values);
}

/** From places in the table, where a value stands in the middle of its cell, to the picture. */
function outline(polygons: number[][][][], cliff: Cliff, plane: Plane): string {
  const along = (values: number[], at: number) => {
    const last = values.length - 1;
    const low = Math.min(Math.max(Math.floor(at - 0.5), 0), last - 1);
    return values[low]! + (values[low + 1]! - values[low]!) * (at - 0.5 - low);
  };
  const point = ([gx = 0, gy = 0]: number[]) =>
    `${plane.x(along(cliff.x.values, gx)).toFixed(1)} ${plane.y(along(cliff.y.values, gy)).toFixed(1)}`;
  return polygons.flatMap((polygon) => polygon.map((ring) => `M${ring.map(point).join("L")}Z`)).join("");
}
