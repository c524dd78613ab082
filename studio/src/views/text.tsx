/** The Text view: what every unit of every line does, symbol by symbol. */

import type { Run, TextRead, Trajectory } from "../answers";
import { frozen, useAnswer } from "../ask";
import { Notice } from "../parts/notice";
import { Panel } from "../parts/panel";
import { held } from "./held";
import { Coloured } from "./text/coloured";
import { Controls } from "./text/controls";
import { Found } from "./text/found";
import { Legend } from "./text/legend";
import { Selected } from "./text/selected";
import { type Choice, choiceOf, stateLine, useShown } from "./text/shown";
import { Source } from "./text/source";
import { States } from "./text/states";
import { type TextState, useTextState } from "./text/state";
import "./common.css";
import "./text.css";

export function TextView({ run }: { run: Run }) {
  const state = useTextState(run);
  const { text, kind } = state;
  const asked = useAnswer<TextRead>("text", held("text", text === "" ? null : { text, kind }));
  const read = text === "" ? null : asked.answer;
  const choice = choiceOf(state, read);
  const searchable = state.search.answer !== null || held("units", {}) !== null;
  return (
    <div class="text-view">
      <Source run={run} state={state} />
      {asked.error && (
        <Notice kind="error" title="The text could not be read">
          {asked.error}
        </Notice>
      )}
      {text === "" && (
        <Notice kind="empty" title={frozen ? "This report holds no text" : "No text yet"}>
          {frozen
            ? "Open the run in the studio to read one."
            : "Type or paste a text above, or take an example: every symbol is then coloured."}
        </Notice>
      )}
      {!read && asked.waiting && (
        <Notice kind="busy" title="Reading the text">
          The model reads it symbol by symbol.
        </Notice>
      )}
      {read && (
        <Read searchable={searchable} state={state} read={read} choice={choice} waiting={asked.waiting} />
      )}
      {!read && searchable && <Found state={state} />}
    </div>
  );
}

interface ReadProps {
  state: TextState;
  read: TextRead;
  choice: Choice;
  waiting: boolean;
  searchable: boolean;
}

function Read({ state, read, choice, waiting, searchable }: ReadProps) {
  const shown = useShown(state, read, choice);
  const at = Math.min(Math.max(state.link.at, 0), read.symbols.length - 1);
  const select = (index: number) => state.change({ at: index });
  const fits = shown.values?.length === read.symbols.length;
  return (
    <>
      {read.answer !== "" && (
        <p class="text-answer" data-role="answer" data-value={read.answer}>
          The model says <b>{read.answer}</b>.
        </p>
      )}
      <Controls state={state} choice={choice} />
      {shown.error && (
        <Notice kind="error" title="The text could not be coloured">
          {shown.error}
        </Notice>
      )}
      <Legend scale={shown.scale} values={fits ? shown.values : null} name={shown.name} note={shown.note} />
      <div class="text-columns" aria-busy={waiting || shown.waiting}>
        <div class="text-main">
          <Coloured
            symbols={read.symbols}
            marks={read.marks}
            values={fits ? shown.values : null}
            scale={shown.scale}
            name={shown.name}
            selected={at}
            onSelect={select}
          />
          {searchable && <Found state={state} />}
        </div>
        <Selected state={state} read={read} choice={choice} shown={shown} at={at} />
      </div>
      <Plane state={state} read={read} choice={choice} at={at} onSelect={select} />
    </>
  );
}

interface PlaneProps extends Pick<ReadProps, "state" | "read" | "choice"> {
  at: number;
  onSelect: (index: number) => void;
}

function Plane({ state, read, choice, at, onSelect }: PlaneProps) {
  const { text, kind } = state;
  const line = stateLine(choice.line);
  const params = held("trajectory", line === "" ? null : { text, kind, layer: choice.layer, line });
  const { answer, error, waiting } = useAnswer<Trajectory>("trajectory", params);
  if (params === null) return null;
  return (
    <Panel
      title="States in two dimensions"
      note="The states of the chosen line while the text is read. Click to move the cursor to the nearest state."
    >
      {error && (
        <Notice kind="error" title="The states could not be drawn">
          {error}
        </Notice>
      )}
      {!answer && waiting && <Notice kind="busy" title="Finding the principal components" />}
      {answer && <States answer={answer} symbols={read.symbols} at={at} line={line} onSelect={onSelect} />}
    </Panel>
  );
}
