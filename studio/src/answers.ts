/** What the server answers, by question. A number that is not finite comes as null. */

export type Num = number | null;

/** "run" {} */
export interface Run {
  name: string; // of its folder; "" when the studio was started without a run
  task: "classify" | "tag" | "lm" | "translate" | "";
  cell: string; // a built-in name, "your own", or "transformer"
  equations: string;
  trained: boolean; // there are weights to look into
  parameters: number;
  settings: Record<string, Record<string, unknown>>;
  tags: string[]; // of a translator
  classes: string[]; // of a language model that is told a class
  examples: string[]; // texts to begin with
  views: string[]; // training, translate, text, gradients, cell: those that this run has
  cells: { name: string; equations: string; source: string }[]; // the built-in ones
  properties: { name: string; title: string }[]; // of a text
}
export interface Layer {
  title: string; // "layer 1", "encoder, layer 1, backwards"
  lines: { name: string; size: number }[];
}

/** "training" {since}; ask again with `next`. */
export interface Training {
  next: number;
  restarted: boolean; // the log is not the one that was read before: forget the points
  steps: { step: number[]; loss: Num[]; gradient_norm: Num[]; lr: Num[] };
  epochs: { step: number; epoch: number; mean_loss: Num; best: boolean; dev: Record<string, Num> }[];
  wanted: number; // epochs
  finished: boolean;
  quiet: number; // seconds since the log grew, or since the run began
  every: number; // steps between lines of the log
  clip: number; // the gradient norm that training cuts at; 0: none
}

/** "translate" {text, tag, width, nbest, normalise} */
export interface Translated {
  source: string[]; // as it is read: tag, symbols, <end>
  best: Hypothesis[];
  tree: BeamNode[]; // node 0 is the root
}
export interface Hypothesis {
  text: string;
  tokens: string[]; // with <end> if it ended
  score: number;
  log_prob: number;
  finished: boolean;
  weights: number[][] | null; // (tokens, source); null without attention
  node: number; // its last node in the tree
}
export interface BeamNode {
  id: number;
  parent: number | null;
  token: string;
  step: number;
  log_prob: number;
  total: number;
  score: number;
  fate: "kept" | "pruned" | "finished" | "cut";
}

/** "text" {text, kind}: what is read, symbol by symbol. kind is a class, or "". */
export interface TextRead {
  symbols: string[]; // their texts joined are the text, but for what the model cannot read
  marks: string[]; // of a tagger: the tag of each symbol; else empty
  answer: string; // of a classifier: the label; else ""
  layers: Layer[];
  ranked: boolean; // whether "ranks" can be asked: a language model
}
/** "unit" {text, kind, layer, line, unit}; line may be "dL/dh": the gradient of the text's loss. */
export interface Unit {
  values: Num[];
  low: number;
  high: number;
}
/** "ranks" {text, kind} */
export interface Ranks {
  rank: number[];
  probability: number[];
  entropy: number[]; // bits
  counts: { within: number; count: number }[]; // 1, 10, 100, 1000; the last: beyond, within = 0
  bits: number; // per symbol
}
/** "candidates" {text, kind, position} */
export interface Candidates {
  likeliest: { token: string; probability: number }[];
}
/** "units" {}: what was found on held-out text; done false: ask again. */
export interface Units {
  done: boolean;
  progress: number; // 0 to 1
  units: FoundUnit[];
  skipped: string[]; // properties that this text does not have, in words
  excerpt: string; // a held-out text to show them on
  symbols: number; // how many were searched
}
export interface FoundUnit {
  property: string; // name
  title: string; // "inside quotes"
  kind: "auc" | "rank";
  layer: number;
  where: string; // the layer in words, if there are several
  line: string;
  unit: number;
  score: number; // on text that did not choose it
  control: number; // the best that chance found
  sign: 1 | -1; // -1: low where the property holds
}
/** "property" {text, property}: the label of each symbol. */
export interface Labels {
  values: number[];
  title: string;
}
/** "neighbours" {text, kind, layer, line, position}: held-out places with the nearest states. */
export interface Neighbours {
  found: { distance: number; before: string; symbol: string; after: string }[];
}
/** "trajectory" {text, kind, layer, line}: in two principal components. */
export interface Trajectory {
  points: [number, number][];
  explained: [number, number];
  fixed: { point: [number, number]; kind: "stable" | "saddle" | "unstable"; radius: number; speed: number }[];
}

/** "gradients" {cells, steps, hidden, gain, keep, seed}: cells are names or equations; keep is the
 * bias that gates start with which keep the old state, or null for the cell's own. */
export interface Gradients {
  flows: Flow[];
}
export interface Flow {
  name: string;
  error: string; // "" if it could be built
  states: { name: string; norms: Num[]; units: Num[][] }[]; // |dL/ds_t| and dL/ds_t (T, n)
  measured: Num[]; // |ds_T/ds_t|, t = 0 .. T
  norm_bound: Num[]; // the product of the steps' norms
  bound: Num[] | null; // (gamma sigma_1)^(T-t), where the cell has that form
  singular: Num[][]; // the largest of ds_T/ds_t, (T+1, k)
}
/** "cliff" {limit, rate}: descent on the loss of one unit, plain and clipped. */
export interface Cliff {
  x: { name: string; values: number[] };
  y: { name: string; values: number[] };
  loss: Num[][]; // (y, x)
  plain: Descent;
  clipped: Descent;
}
export interface Descent {
  points: [number, number][];
  losses: Num[];
  norms: Num[]; // before the cut
}
/** "relu" {hidden, steps, seed} */
export interface Relu {
  runs: { scale: number; forward: Num[]; backward: Num[] }[];
}

/** "cell" {equations, input, hidden}: equations or a built-in name. */
export interface CellAnswer {
  error: Remark | null;
  warnings: Remark[]; // the cell works, and these are most likely slips
  equations: string;
  sizes: { name: string; shape: string; role: string }[]; // x, states, output
  lines: { name: string; text: string; size: string }[];
  parameters: { name: string; shape: string; count: number }[];
  total: number;
  backward: string[]; // as `unspool explain` prints it
  gradients: string[];
  time: string[];
  graph: { nodes: GraphNode[]; edges: GraphEdge[] } | null;
  flow: Flow | null; // beside "gradients" of the built-in cells
}
/** Against the equations: line and columns from 0; -1: nowhere. */
export interface Remark {
  message: string;
  problem: string;
  hint: string;
  line: number;
  start: number;
  stop: number;
}
export interface GraphNode {
  id: number;
  label: string;
  kind: "input" | "parameter" | "line" | "state" | "output" | "loss";
  step: number;
}
export interface GraphEdge {
  source: number;
  target: number;
  label: string; // the matrix it goes through, or ""
  derivative: string; // what goes back along it
}
/** "race" {equations, against, steps, updates, seed}: name the first symbol; done false: ask again. */
export interface Race {
  done: boolean;
  racers: { name: string; losses: Num[]; accuracy: number | null; error: string }[];
  updates: number;
}
