/** Units that follow a property of the text, found on text that they were not chosen on. */

import type { FoundUnit} from "../../answers";
import { frozen, offers } from "../../ask";
import { short } from "../../charts/scale";
import { Notice } from "../../parts/notice";
import { Panel } from "../../parts/panel";
import { Bar } from "./bar";
import type { TextState } from "./state";

const NOTE =
  "Each unit is chosen on one half of a held-out text and scored on the other. " +
  "Chance is the best score that the same search finds with the labels shifted.";

export function Found({ state }: { state: TextState }) {
  const { search, link, change } = state;
  const { answer, error } = search;
  if (!answer && !error && !search.waiting) {
    return (
      <Panel title="Discovered units" note={NOTE}>
        <button type="button" data-role="search-units" onClick={() => change({ search: true })}>
          Search for units
        </button>
      </Panel>
    );
  }
  return (
    <Panel title="Discovered units" note={NOTE}>
      {error && (
        <Notice kind="error" title="The search did not finish">
          {error}
        </Notice>
      )}
      {!error && (!answer || !answer.done) && <Searching progress={answer?.progress ?? 0} />}
      {answer && answer.units.length > 0 && (
        <FoundTable units={answer.units} chosen={link} onChoose={state.setUnit} />
      )}
      {answer?.done && answer.units.length === 0 && (
        <Notice kind="empty" title="No unit was found">
          The text has none of the properties.
        </Notice>
      )}
      {answer?.done && (
        <p class="faint">
          {answer.symbols.toLocaleString("en")} symbols were searched. {skipped(answer.skipped)}
        </p>
      )}
    </Panel>
  );
}

function skipped(words: string[]): string {
  return words.length > 0 ? `Left out: ${words.join("; ")}.` : "";
}

function Searching({ progress }: { progress: number }) {
  return (
    <div class="text-progress" role="status">
      <label>
        Searching every unit of every line{" "}
        <progress max={1} value={progress} data-role="search-progress" data-value={progress} />
      </label>{" "}
      <span class="mono">{Math.round(100 * progress)}%</span>
    </div>
  );
}

interface TableProps {
  units: FoundUnit[];
  chosen: { by: string; layer: number; line: string; unit: number };
  onChoose: (unit: FoundUnit) => void;
}

function FoundTable({ units, chosen, onChoose }: TableProps) {
  const is = (unit: FoundUnit) =>
    chosen.by === "unit" && chosen.layer === unit.layer && chosen.line === unit.line && chosen.unit === unit.unit;
  return (
    <div class="scroll">
      <table class="text-found">
        <thead>
          <tr>
            <th scope="col">Property</th>
            <th scope="col">Unit</th>
            <th scope="col">Measure</th>
            <th scope="col" class="number">
              Score
            </th>
            <th scope="col">
              <span class="hidden">Score as a bar, chance as a mark</span>
            </th>
            <th scope="col" class="number">
              Chance
            </th>
          </tr>
        </thead>
        <tbody>
          {units.map((unit) => (
            <tr key={`${unit.property} ${unit.layer} ${unit.line} ${unit.unit}`} class={is(unit) ? "chosen" : ""}>
              <td>
                <button
                  type="button"
                  class="link"
                  disabled={!shown(unit)}
                  aria-pressed={is(unit)}
                  data-role="found-unit"
                  data-property={unit.property}
                  data-line={unit.line}
                  data-layer={unit.layer}
                  data-unit={unit.unit}
                  data-value={unit.score}
                  onClick={(event) => {
                    onChoose(unit);
                    showText(event.currentTarget);
                  }}
                >
                  {unit.title}
                </button>
              </td>
              <td class="mono">
                {unit.line} {unit.unit}
                {unit.where && `, ${unit.where}`}
              </td>
              <td>{measure(unit)}</td>
              <td class="mono number">{short(unit.score, 3)}</td>
              <td>
                <Bar
                  share={share(unit, unit.score)}
                  mark={share(unit, unit.control)}
                  label={`score ${short(unit.score, 3)}, chance ${short(unit.control, 3)}`}
                />
              </td>
              <td class="mono number" data-value={unit.control}>
                {short(unit.control, 3)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The list is long, and what is chosen in it shows in the text above. */
function showText(button: Element): void {
  button.closest(".text-main")?.querySelector(".coloured-box")?.scrollIntoView({ block: "nearest" });
}

/** A report may not hold the values of every unit that it names. */
function shown({ layer, line, unit }: FoundUnit): boolean {
  const stored = offers<{ layer: number; line: string; unit: number }>("unit");
  return !frozen || stored.some((offer) => offer.layer === layer && offer.line === line && offer.unit === unit);
}

function measure(unit: FoundUnit): string {
  const name = unit.kind === "auc" ? "AUC" : "rank correlation";
  const turned = unit.kind === "auc" ? "low where it holds" : "falls as it rises";
  return unit.sign < 0 ? `${name}, ${turned}` : name;
}

/** An AUC of one half says nothing, as a correlation of zero does. */
function share(unit: FoundUnit, score: number): number {
  return unit.kind === "auc" ? 2 * score - 1 : Math.abs(score);
}
