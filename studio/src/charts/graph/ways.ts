/** What a node leads to, and what leads to it. */

import type { GraphEdge } from "../../answers";

export interface Ways {
  after: Set<number>; // reached from it
  before: Set<number>; // it is reached from
}

export function waysOf(edges: GraphEdge[], node: number | null): Ways {
  if (node === null) return { after: new Set(), before: new Set() };
  return {
    after: reached(
      node,
      edges.map(({ source, target }) => [source, target]),
    ),
    before: reached(
      node,
      edges.map(({ source, target }) => [target, source]),
    ),
  };
}

function reached(start: number, arrows: [number, number][]): Set<number> {
  const next = new Map<number, number[]>();
  for (const [from, to] of arrows) next.set(from, [...(next.get(from) ?? []), to]);
  const found = new Set([start]);
  const waiting = [start];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    for (const to of next.get(node) ?? []) {
      if (found.has(to)) continue;
      found.add(to);
      waiting.push(to);
    }
  }
  return found;
}

/** On which way an edge lies, if on any. */
export function wayOf(edge: GraphEdge, ways: Ways): "after" | "before" | "" {
  if (ways.after.has(edge.source) && ways.after.has(edge.target)) return "after";
  return ways.before.has(edge.source) && ways.before.has(edge.target) ? "before" : "";
}
