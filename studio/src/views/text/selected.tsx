/** The symbol under the cursor: its value, what the model held for likely, places like it. */

import type { Candidates, Neighbours, TextRead } from "../../answers";
import { useAnswer } from "../../ask";
import { short } from "../../charts/scale";
import { Panel } from "../../parts/panel";
import { held } from "../held";
import { Bar } from "./bar";
import { type Choice, type Shown, stateLine } from "./shown";
import type { TextState } from "./state";
import { visible } from "./symbols";

interface SelectedProps {
  state: TextState;
  read: TextRead;
  choice: Choice;
  shown: Shown;
  at: number;
}

export function Selected({ state, read, choice, shown, at }: SelectedProps) {
  const symbol = read.symbols[at] ?? "";
  const value = shown.values?.[at] ?? null;
  return (
    <Panel title="This symbol">
      <p class="text-selected" data-role="selected" data-index={at} data-symbol={symbol} data-value={value ?? ""}>
        <span class="text-glyph mono">{visible(symbol)}</span>
        <span class="faint">
          symbol {at + 1} of {read.symbols.length}
        </span>
        {read.marks[at] && (
          <span>
            tag <b>{read.marks[at]}</b>
          </span>
        )}
        <span>
          {shown.name}: <b class="mono">{value === null ? "–" : short(value)}</b>
        </span>
      </p>
      {read.ranked && <Likely state={state} at={at} symbol={symbol} />}
      {choice.line !== "" && <Nearest state={state} choice={choice} at={at} />}
    </Panel>
  );
}

function Likely({ state, at, symbol }: { state: TextState; at: number; symbol: string }) {
  const { text, kind } = state;
  const params = held("candidates", { text, kind, position: at });
  const { answer, error } = useAnswer<Candidates>("candidates", params);
  if (params === null) return null;
  return (
    <div class="text-candidates" data-role="candidates">
      <h3>Likeliest here, the model thought</h3>
      {error && <p class="field-error">{error}</p>}
      {answer?.likeliest.map(({ token, probability }, k) => (
        <div
          key={k}
          class={`text-candidate ${token === symbol ? "chosen" : ""}`}
          data-token={token}
          data-value={probability}
        >
          <span class="mono">
            {visible(token)}
            {token === symbol ? " ✓" : ""}
          </span>
          <Bar share={probability} label={`${visible(token)} ${short(probability, 3)}`} />
          <span class="mono number">{percent(probability)}</span>
        </div>
      ))}
    </div>
  );
}

function percent(probability: number): string {
  return `${(100 * probability).toFixed(probability < 0.001 ? 3 : 1)}%`;
}

function Nearest({ state, choice, at }: { state: TextState; choice: Choice; at: number }) {
  const { text, kind } = state;
  const line = stateLine(choice.line);
  const params = held("neighbours", { text, kind, layer: choice.layer, line, position: at });
  const { answer, error, waiting } = useAnswer<Neighbours>("neighbours", params);
  if (params === null) return null;
  return (
    <div data-role="neighbours">
      <h3>Places in held-out text with the nearest {line}</h3>
      {error && <p class="field-error">{error}</p>}
      {!answer && waiting && <p class="faint">Comparing…</p>}
      <ol class="text-neighbours">
        {answer?.found.map((place, k) => (
          <li key={k} data-value={place.distance}>
            <span class="mono text-line">
              <span class="text-before">{oneLine(place.before).slice(-16)}</span>
              <b>{oneLine(place.symbol)}</b>
              <span>{oneLine(place.after).slice(0, 14)}</span>
            </span>
            <span class="faint number">{short(place.distance, 3)}</span>
          </li>
        ))}
      </ol>
      {answer?.found.length === 0 && <p class="faint">There is no held-out text to compare with.</p>}
    </div>
  );
}

function oneLine(text: string): string {
  return text.replace(/\n/g, "↵").replace(/\t/g, " ");
}
