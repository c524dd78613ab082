/** A line through noise: an exponential mean, corrected for having begun with nothing. */

export function smoothed(points: [number, number | null][], weight: number): [number, number | null][] {
  let [mean, mass] = [0, 0];
  return points.map(([x, y]) => {
    if (y === null) return [x, null];
    mean = weight * mean + (1 - weight) * y;
    mass = weight * mass + (1 - weight);
    return [x, mean / mass];
  });
}
