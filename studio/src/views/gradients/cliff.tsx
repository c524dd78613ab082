/** The cliff: plain descent is thrown off it, clipped descent walks down. */

import type { Cliff, Descent } from "../../answers";
import { frozen, offers, useAnswer } from "../../ask";
import { Lines, type Series } from "../../charts/lines";
import { short } from "../../charts/scale";
import { useLink } from "../../link";
import { Notice } from "../../parts/notice";
import { Panel } from "../../parts/panel";
import { Select } from "../../parts/select";
import { held } from "../held";
import { NumberField } from "../number";
import { Slider } from "../slider";
import { Surface } from "./surface";

interface Asked {
  limit: number;
  rate: number;
}

const NOTE =
  "The loss of one recurrent unit over its two parameters. Where it is steep, one plain step goes far out; " +
  "a gradient that is cut to the limit keeps its direction and loses its length.";

export function CliffPanel() {
  const [link, change] = useLink({ limit: 0.1, rate: 0.4, descent: -1, cliffPick: 0 });
  const stored = offers<Asked>("cliff");
  const params = frozen ? (stored[link.cliffPick] ?? stored[0] ?? null) : { limit: link.limit, rate: link.rate };
  const { answer, error, waiting } = useAnswer<Cliff>("cliff", held("cliff", params));
  if (params === null) return null;
  return (
    <Panel title="The cliff" note={NOTE}>
      <div class="controls">
        {!frozen && (
          <>
            <NumberField
              label="Limit of the gradient norm"
              value={link.limit}
              low={0.001}
              high={100}
              onChange={(limit) => change({ limit })}
            />
            <NumberField
              label="Learning rate"
              value={link.rate}
              low={0.001}
              high={5}
              onChange={(rate) => change({ rate })}
            />
          </>
        )}
        {frozen && stored.length > 1 && (
          <Select
            label="Descent"
            value={String(link.cliffPick)}
            onChange={(pick) => change({ cliffPick: Number(pick) })}
            options={stored.map(({ limit, rate }, k) => ({
              value: String(k),
              label: `limit ${limit}, rate ${rate}`,
            }))}
          />
        )}
      </div>
      {error && (
        <Notice kind="error" title="The descent failed">
          {error}
        </Notice>
      )}
      {!answer && waiting && <Notice kind="busy" title="Walking down" />}
      {answer && (
        <Walk cliff={answer} wanted={link.descent} onStep={(descent) => change({ descent })} waiting={waiting} />
      )}
    </Panel>
  );
}

interface WalkProps {
  cliff: Cliff;
  wanted: number;
  onStep: (step: number) => void;
  waiting: boolean;
}

function Walk({ cliff, wanted, onStep, waiting }: WalkProps) {
  const last = Math.max(cliff.plain.points.length, cliff.clipped.points.length) - 1;
  const step = wanted < 0 ? last : Math.min(wanted, last);
  const mark = { marker: step, onMark: onStep };
  return (
    <div class="cliff" aria-busy={waiting}>
      <div class="cliff-map">
        <Surface cliff={cliff} step={step} />
        <Slider label="Descent step" value={step} low={0} high={last} onChange={onStep} />
        <Where name="plain" descent={cliff.plain} step={step} cliff={cliff} />
        <Where name="clipped" descent={cliff.clipped} step={step} cliff={cliff} />
      </div>
      <div>
        <Lines title="Loss" x="descent step" y="loss" series={both(cliff, "losses")} {...mark} />
        <Lines
          title="Gradient norm before the cut"
          x="descent step"
          y="gradient norm"
          logY
          series={both(cliff, "norms")}
          {...mark}
        />
      </div>
    </div>
  );
}

function both(cliff: Cliff, what: "losses" | "norms"): Series[] {
  const curve = (name: string, descent: Descent): Series => ({
    name,
    points: descent[what].map((value, k) => [k, value]),
  });
  return [curve("plain", cliff.plain), curve("clipped", cliff.clipped)];
}

function Where({ name, descent, step, cliff }: { name: string; descent: Descent; step: number; cliff: Cliff }) {
  const at = Math.min(step, descent.points.length - 1);
  const point = descent.points[at];
  if (!point) return null;
  const inside = within(point[0], cliff.x.values) && within(point[1], cliff.y.values);
  return (
    <p class="readout" data-role="descent" data-name={name} data-value={descent.losses[at] ?? ""}>
      {name}: {cliff.x.name} <b>{short(point[0], 3)}</b>, {cliff.y.name} <b>{short(point[1], 3)}</b>, loss{" "}
      <b>{short(descent.losses[at] ?? null, 3)}</b>
      {!inside && ", off the map"}
    </p>
  );
}

function within(value: number, values: number[]): boolean {
  return value >= Math.min(...values) && value <= Math.max(...values);
}
