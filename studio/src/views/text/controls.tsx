/** What to colour the text by. */

import type { Choice } from "./shown";
import type { Mode, TextState } from "./state";
import { Select } from "../../parts/select";
import { NumberField } from "../number";

const MODES: Record<Mode, string> = {
  unit: "one unit",
  rank: "rank of the symbol",
  probability: "probability of the symbol",
  entropy: "entropy of the prediction",
  property: "a property of the text",
};

export function Controls({ state, choice }: { state: TextState; choice: Choice }) {
  const { change } = state;
  return (
    <div class="controls" data-role="colour-controls">
      <Select
        label="Colour by"
        value={choice.mode}
        onChange={(by) => change({ by })}
        options={choice.modes.map((mode) => ({ value: mode, label: MODES[mode] }))}
      />
      {choice.mode === "unit" && <UnitControls state={state} choice={choice} />}
      {choice.mode === "property" && (
        <Select
          label="Property"
          value={choice.property}
          onChange={(property) => change({ property })}
          options={choice.properties.map(([value, label]) => ({ value, label }))}
        />
      )}
    </div>
  );
}

function UnitControls({ state, choice }: { state: TextState; choice: Choice }) {
  const { change } = state;
  const size = choice.lines.find(({ name }) => name === choice.line)?.size ?? 1;
  return (
    <>
      {choice.layers.length > 1 && (
        <Select
          label="Layer"
          value={String(choice.layer)}
          onChange={(layer) => change({ layer: Number(layer) })}
          options={choice.layers.map(({ value, title }) => ({ value: String(value), label: title }))}
        />
      )}
      <Select
        label="Line"
        value={choice.line}
        onChange={(line) => change({ line })}
        options={choice.lines.map(({ name, size: units }) => ({ value: name, label: `${name} (${units} units)` }))}
      />
      {choice.units ? (
        <Select
          label="Unit"
          value={String(choice.unit)}
          onChange={(unit) => change({ unit: Number(unit) })}
          options={choice.units.map((unit) => ({ value: String(unit), label: String(unit) }))}
        />
      ) : (
        <NumberField
          label={`Unit, 0 to ${size - 1}`}
          value={choice.unit}
          low={0}
          high={size - 1}
          whole
          role="unit"
          onChange={(unit) => change({ unit })}
        />
      )}
    </>
  );
}
