/** Where the nodes of an unrolled graph stand: steps from left to right, states along the top. */

import type { GraphEdge, GraphNode } from "../../answers";

export interface Place {
  node: GraphNode;
  x: number; // its middle
  y: number;
  width: number;
}

export interface Places {
  width: number;
  height: number;
  nodes: Map<number, Place>;
  bands: { step: number; left: number; right: number }[];
  bottom: number; // of the steps: the parameters stand below
}

export const NODE_HEIGHT = 26;
const COLUMN = { least: 56, most: 84 };
const ROW = 46;
const TOP = 44;
const GAP = 14; // between the steps

/** The name without its step: a name has one row, so that a state's way is a straight line. */
export function nameOf(node: GraphNode): string {
  return node.kind === "parameter" ? node.label : node.label.replace(/_\d+$/, "");
}

/** As wide as there is room for, and wider where nodes would touch. */
export function placesOf(nodes: GraphNode[], edges: GraphEdge[], room: number): Places {
  const timed = nodes.filter((node) => node.kind !== "parameter" && !isSum(node));
  const depth = depths(timed, edges);
  const rows = rowsOf(timed, depth);
  const steps = [...new Set(timed.map((node) => node.step))].sort((a, b) => a - b);
  const places: Places = { width: 0, height: 0, nodes: new Map(), bands: [], bottom: 0 };
  const columnsOf = (step: number) =>
    1 + Math.max(...timed.filter((node) => node.step === step).map(({ id }) => depth.get(id) ?? 0));
  const sums = nodes.filter(isSum);
  const columns = steps.reduce((count, step) => count + columnsOf(step), sums.length > 0 ? 1 : 0);
  const fits = (room - 16 - GAP * steps.length) / Math.max(columns, 1);
  const least = Math.max(COLUMN.least, 8 + Math.max(0, ...timed.map(widthOf)));
  const column = Math.max(least, Math.min(COLUMN.most, fits));
  let left = 8;
  for (const step of steps) {
    for (const node of timed.filter((each) => each.step === step)) {
      put(
        places,
        node,
        left + column * ((depth.get(node.id) ?? 0) + 0.5),
        TOP + ROW * (rows.get(nameOf(node)) ?? 0),
      );
    }
    const right = left + column * columnsOf(step);
    places.bands.push({ step, left, right });
    left = right + GAP;
  }
  for (const node of sums) put(places, node, left + column / 2, TOP);
  if (sums.length > 0) left += column;
  places.width = left;
  places.bottom = TOP + ROW * (Math.max(0, ...rows.values()) + 1) - ROW / 2 + 8;
  placeParameters(
    places,
    nodes.filter((node) => node.kind === "parameter"),
  );
  return places;
}

/** The sum of the losses belongs to no step. */
function isSum(node: GraphNode): boolean {
  return node.kind === "loss" && !/_\d+$/.test(node.label);
}

function put(places: Places, node: GraphNode, x: number, y: number): void {
  places.nodes.set(node.id, { node, x, y, width: widthOf(node) });
}

/** The step stands below the name, smaller, in place of its underscore. */
function widthOf(node: GraphNode): number {
  return Math.max(34, 12 + 8 * (node.label.length - (node.kind === "parameter" ? 0 : 1)));
}

/** How many lines of the same step have to be known first. */
function depths(nodes: GraphNode[], edges: GraphEdge[]): Map<number, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const inner = edges.filter(
    ({ source, target }) => byId.has(source) && byId.get(source)?.step === byId.get(target)?.step,
  );
  const depth = new Map(nodes.map((node) => [node.id, node.kind === "input" || node.step === 0 ? 0 : 1]));
  for (let round = 0; round < nodes.length; round++) {
    let changed = false;
    for (const { source, target } of inner) {
      const needed = (depth.get(source) ?? 0) + 1;
      if ((depth.get(target) ?? 0) >= needed) continue;
      depth.set(target, needed);
      changed = true;
    }
    if (!changed) break;
  }
  return depth;
}

/** Losses at the top, then each state on a row of its own, then the lines, then the input. */
function rowsOf(nodes: GraphNode[], depth: Map<number, number>): Map<string, number> {
  const rows = new Map<string, number>();
  const names = (kind: GraphNode["kind"]) => [...new Set(nodes.filter((node) => node.kind === kind).map(nameOf))];
  const own = (all: string[], from: number) => all.forEach((name, k) => rows.set(name, from + k));
  own(names("loss"), 1); // above them is room for their sum
  own(names("output"), 2);
  const top = 2 + names("output").length;
  own(names("state"), top);
  const lanes = new Map<number, number>(); // of each depth: lines of different depths share rows
  for (const node of nodes.filter(({ kind }) => kind === "line")) {
    if (rows.has(nameOf(node))) continue;
    const column = depth.get(node.id) ?? 0;
    const lane = lanes.get(column) ?? 0;
    rows.set(nameOf(node), top + names("state").length + lane);
    lanes.set(column, lane + 1);
  }
  own(names("input"), top + names("state").length + Math.max(0, ...lanes.values()));
  return rows;
}

function placeParameters(places: Places, parameters: GraphNode[]): void {
  const each = Math.max(...parameters.map((node) => 24 + 8 * node.label.length), 50);
  const inRow = Math.max(1, Math.floor((places.width - 16) / each));
  parameters.forEach((node, k) => {
    put(places, node, 8 + each * ((k % inRow) + 0.5), places.bottom + 46 + 36 * Math.floor(k / inRow));
  });
  const rows = Math.ceil(parameters.length / inRow);
  places.height = places.bottom + (rows > 0 ? 36 * rows + 34 : 8);
}
