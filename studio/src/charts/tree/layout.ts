/** Where the nodes of a beam's tree stand: a column for each step, and no two branches cross. */

import { group } from "d3-array";
import type { BeamNode } from "../../answers";
import { cut, pixels, visible } from "../labels";

export interface Placed {
  node: BeamNode;
  label: string;
  width: number; // of the label, with room for it in bold
  x: number;
  y: number;
  parent: Placed | null;
  children: Placed[]; // from top to bottom
}

export interface Layout {
  nodes: Placed[];
  byId: Map<number, Placed>;
  columns: { x: number; width: number }[]; // by step
  width: number;
  height: number;
  left: number; // how many pruned nodes are left out
}

export const ROW = 20;
export const TURN = 46; // pixels between columns in which branches go up and down
const LEAD = 12; // from a node's dot to its label
const LONGEST = 18; // columns of a label
const MANY = 2500; // pruned nodes: nobody looks at more
const [TOP, LEFT, RIGHT, BOTTOM] = [34, 12, 16, 12];

export function layout(tree: BeamNode[], pruned: boolean): Layout {
  const shown = pruned ? bestPruned(tree) : tree.filter((node) => node.fate !== "pruned");
  const byId = new Map<number, Placed>();
  for (const node of shown) {
    const label = node.parent === null ? "start" : cut(visible(node.token), LONGEST);
    byId.set(node.id, { node, label, width: 1.1 * pixels(label), x: 0, y: 0, parent: null, children: [] });
  }
  const steps: Placed[][] = [];
  for (const placed of byId.values()) {
    placed.parent = placed.node.parent === null ? null : (byId.get(placed.node.parent) ?? null);
    placed.parent?.children.push(placed);
    if (!placed.parent) (steps[0] ??= []).push(placed);
  }
  for (const placed of byId.values()) placed.children.sort((a, b) => b.node.score - a.node.score);
  // Children in the order of their parents: so branches never cross.
  for (let step = steps[0] ?? []; step.length > 0; ) {
    step = step.flatMap((placed) => placed.children);
    if (step.length > 0) steps.push(step);
  }
  const rows = Math.max(1, ...steps.map((step) => step.length));
  for (const step of steps) stack(step, rows);
  const columns = across(steps);
  const last = columns.at(-1) ?? { x: 0, width: 0 };
  return {
    nodes: steps.flat(),
    byId,
    columns,
    width: last.x + last.width + RIGHT,
    height: TOP + (rows - 0.5) * ROW + BOTTOM,
    left: pruned ? tree.length - shown.length : 0,
  };
}

/** All that was not pruned, and of the pruned ones the best of each step. */
function bestPruned(tree: BeamNode[]): BeamNode[] {
  const pruned = tree.filter((node) => node.fate === "pruned");
  const steps = group(pruned, (node) => node.step);
  const room = Math.floor(MANY / Math.max(1, steps.size));
  const kept = [...steps.values()].flatMap((nodes) => nodes.sort((a, b) => b.score - a.score).slice(0, room));
  const chosen = new Set(kept);
  return tree.filter((node) => node.fate !== "pruned" || chosen.has(node));
}

function across(steps: Placed[][]): { x: number; width: number }[] {
  let x = LEFT;
  return steps.map((step) => {
    const column = { x, width: LEAD + Math.max(36, ...step.map((placed) => placed.width)) };
    for (const placed of step) placed.x = x;
    x += column.width + TURN;
    return column;
  });
}

/** A column as near to its parents as can be, in order, a row apart, and no taller than the tallest. */
function stack(step: Placed[], rows: number): void {
  const wanted = step.map((placed, at) => ({
    value: (placed.parent?.y ?? TOP + ((rows - 1) / 2) * ROW) - at * ROW,
    weight: placed.node.fate === "pruned" ? 0.02 : 1, // what goes on goes straight on
  }));
  const lowest = TOP + (rows - step.length) * ROW;
  rising(wanted).forEach((y, at) => (step[at]!.y = Math.min(lowest, Math.max(TOP, y)) + at * ROW));
}

interface Block {
  sum: number;
  weight: number;
  count: number;
}

/** The numbers that never fall and are nearest to these: neighbours out of order share their mean. */
function rising(values: { value: number; weight: number }[]): number[] {
  const mean = (block: Block) => block.sum / block.weight;
  const blocks: Block[] = [];
  for (const { value, weight } of values) {
    let block: Block = { sum: value * weight, weight, count: 1 };
    for (let last = blocks.at(-1); last && mean(last) > mean(block); last = blocks.at(-1)) {
      block = { sum: last.sum + block.sum, weight: last.weight + block.weight, count: last.count + block.count };
      blocks.pop();
    }
    blocks.push(block);
  }
  return blocks.flatMap((block) => Array<number>(block.count).fill(mean(block)));
}

/** From a parent's label level to the turn, then over to the child. */
export function branch(child: Placed, columns: { x: number; width: number }[]): string {
  const parent = child.parent;
  if (!parent) return "";
  const column = columns[parent.node.step] ?? { x: parent.x, width: parent.width };
  const [start, turn, end] = [parent.x + LEAD + parent.width + 2, column.x + column.width, child.x - 7];
  const middle = (turn + end) / 2;
  const at = (value: number) => value.toFixed(1);
  return `M${at(start)} ${at(parent.y)}H${at(turn)}C${at(middle)} ${at(parent.y)} ${at(middle)} ${at(child.y)} ${at(end)} ${at(child.y)}`;
}
