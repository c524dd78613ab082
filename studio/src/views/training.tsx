/** The Training view: curves of a run, live while it trains. */

import { useMemo } from "preact/hooks";
import type { Num, Run, Training } from "../answers";
import { Lines, type Series } from "../charts/lines";
import { short } from "../charts/scale";
import { useLink } from "../link";
import { Field } from "../parts/field";
import { Notice } from "../parts/notice";
import { Panel } from "../parts/panel";
import { bestOf, EpochTable } from "./training/epochs";
import { useTraining } from "./training/grow";
import { smoothed } from "./training/smooth";
import { Status } from "./training/status";
import "./training.css";

type Points = [number, Num][];

export function TrainingView(_: { run: Run }) {
  const { training, error } = useTraining();
  const [{ smooth }, set] = useLink({ smooth: 0.9 });
  if (!training) {
    if (error)
      return (
        <Notice kind="error" title="The log could not be read">
          {error}
        </Notice>
      );
    return <Notice kind="busy" title="Reading the log" />;
  }
  const scores = [...new Set(training.epochs.flatMap((epoch) => Object.keys(epoch.dev)))];
  const empty = training.steps.step.length === 0 && training.epochs.length === 0;
  return (
    <>
      {error && (
        <Notice kind="error" title="The log could not be read further">
          {error}
        </Notice>
      )}
      <Status training={training} />
      {empty ? (
        <Notice kind="empty" title="No steps yet">
          Curves appear here with the first lines of the log.
        </Notice>
      ) : (
        <>
          <Panel title="While it learns">
            {training.steps.step.length > 0 ? (
              <>
                <Smoothing value={smooth} onChange={(to) => set({ smooth: to })} />
                <StepCharts training={training} smooth={smooth} />
              </>
            ) : (
              <Notice kind="empty" title="No step was logged">
                {`The log has a line for every ${training.every} steps, and there were fewer: train with a smaller --log-every.`}
              </Notice>
            )}
          </Panel>
          {scores.length > 0 && <ScoreCharts training={training} scores={scores} />}
          <EpochTable epochs={training.epochs} scores={scores} />
        </>
      )}
    </>
  );
}

function Smoothing({ value, onChange }: { value: number; onChange: (to: number) => void }) {
  return (
    <div class="smoothing">
      <Field label={value > 0 ? `Smoothing: ${value}` : "Smoothing: none"}>
        <input
          type="range"
          min="0"
          max="0.99"
          step="0.01"
          value={value}
          data-role="smoothing"
          onInput={(event) => onChange(Number(event.currentTarget.value))}
        />
      </Field>
    </div>
  );
}

function StepCharts({ training, smooth }: { training: Training; smooth: number }) {
  const { steps, clip } = training;
  const [loss, norm, rate] = useMemo(
    () => [steps.loss, steps.gradient_norm, steps.lr].map((line) => paired(steps.step, line)),
    [steps],
  ) as [Points, Points, Points];
  const soft = useMemo(() => [loss, norm].map((line) => smoothed(line, smooth)), [loss, norm, smooth]);
  const limit: Points = [loss[0], loss.at(-1)].flatMap((point): Points => (point ? [[point[0], clip]] : []));
  return (
    <div class="charts">
      <div class="wide">
        <Lines
          title="Loss of training"
          x="step"
          y="loss"
          height={280}
          series={rawAndSoft(loss, soft[0]!, smooth)}
        />
      </div>
      <Lines
        title="Norm of the gradient, before it is cut"
        x="step"
        y="norm (log)"
        logY
        series={[
          ...rawAndSoft(norm, soft[1]!, smooth),
          ...(clip > 0 ? [{ name: `cut at ${short(clip)}`, points: limit, dashed: true, hue: 1 }] : []),
        ]}
      />
      <Lines title="Learning rate" x="step" y="rate" series={[{ name: "rate", points: rate }]} />
    </div>
  );
}

function rawAndSoft(raw: Points, soft: Points, smooth: number): Series[] {
  const each = { name: "each step", points: raw, hue: 0 };
  return smooth > 0
    ? [
        { ...each, faint: true },
        { name: "smoothed", points: soft, hue: 0 },
      ]
    : [each];
}

function paired(steps: number[], values: Num[]): Points {
  return steps.map((step, at) => [step, values[at] ?? null]);
}

function ScoreCharts({ training, scores }: { training: Training; scores: string[] }) {
  const best = bestOf(training.epochs);
  return (
    <Panel title="On held-out data, after each epoch">
      <div class="charts small">
        {scores.map((name) => (
          <Lines
            key={name}
            title={`dev ${name}`}
            x="epoch"
            y={name}
            height={180}
            marker={best?.epoch}
            markerLabel="best"
            series={[
              { name, points: training.epochs.map(({ epoch, dev }) => [epoch, dev[name] ?? null]), dots: true },
            ]}
          />
        ))}
      </div>
    </Panel>
  );
}
