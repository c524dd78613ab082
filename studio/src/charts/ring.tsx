/** A frame around what is being read: dark in light, so that it shows on every colour. */

interface RingProps {
  x: number;
  y: number;
  width: number;
  height: number;
}

export function Ring(place: RingProps) {
  return (
    <g data-role="ring">
      <rect class="ring-edge" rx="2" {...place} />
      <rect class="ring" rx="2" {...place} />
    </g>
  );
}
