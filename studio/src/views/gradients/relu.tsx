/** Random matrices with ReLU in between: the scale alone decides what becomes of a signal. */

import type { Relu } from "../../answers";
import { frozen, offers, useAnswer } from "../../ask";
import { Lines, type Series } from "../../charts/lines";
import { short } from "../../charts/scale";
import { useLink } from "../../link";
import { Notice } from "../../parts/notice";
import { Panel } from "../../parts/panel";
import { Select } from "../../parts/select";
import { held } from "../held";
import { NumberField } from "../number";

interface Asked {
  hidden: number;
  steps: number;
  seed: number;
}

const NOTE =
  "The same random matrix at every step, ReLU between: forwards the length of the state, backwards the length of the gradient. " +
  "A little less than the right scale and both vanish, a little more and both explode.";

export function ReluPanel() {
  const [link, change] = useLink({ reluHidden: 64, reluSteps: 50, reluSeed: 0, reluPick: 0 });
  const stored = offers<Asked>("relu");
  const typed = { hidden: link.reluHidden, steps: link.reluSteps, seed: link.reluSeed };
  const params = frozen ? (stored[link.reluPick] ?? stored[0] ?? null) : typed;
  const { answer, error, waiting } = useAnswer<Relu>("relu", held("relu", params));
  if (params === null) return null;
  return (
    <Panel title="Random matrices and ReLU" note={NOTE}>
      <div class="controls">
        {!frozen && (
          <>
            <NumberField
              label="Hidden units"
              value={link.reluHidden}
              low={1}
              high={512}
              whole
              onChange={(reluHidden) => change({ reluHidden })}
            />
            <NumberField
              label="Steps"
              value={link.reluSteps}
              low={1}
              high={256}
              whole
              onChange={(reluSteps) => change({ reluSteps })}
            />
            <NumberField
              label="Seed"
              value={link.reluSeed}
              low={0}
              high={1000000}
              whole
              onChange={(reluSeed) => change({ reluSeed })}
            />
          </>
        )}
        {frozen && stored.length > 1 && (
          <Select
            label="Experiment"
            value={String(link.reluPick)}
            onChange={(pick) => change({ reluPick: Number(pick) })}
            options={stored.map((asked, k) => ({
              value: String(k),
              label: `${asked.hidden} units, ${asked.steps} steps, seed ${asked.seed}`,
            }))}
          />
        )}
      </div>
      {error && (
        <Notice kind="error" title="The experiment failed">
          {error}
        </Notice>
      )}
      {!answer && waiting && <Notice kind="busy" title="Multiplying matrices" />}
      {answer && (
        <div class="flow-pair" aria-busy={waiting}>
          <Lines
            title="Forwards"
            x="step"
            y="length of the state"
            logY
            height={280}
            series={curves(answer, "forward")}
          />
          <Lines
            title="Backwards"
            x="step"
            y="length of the gradient"
            logY
            height={280}
            series={curves(answer, "backward")}
          />
        </div>
      )}
    </Panel>
  );
}

function curves(answer: Relu, way: "forward" | "backward"): Series[] {
  return answer.runs.map((run) => ({
    name: `scale ${short(run.scale, 3)}`,
    points: run[way].map((value, step) => [step, value]),
  }));
}
