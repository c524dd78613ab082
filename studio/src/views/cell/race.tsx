/** A race: which cell learns first to name the first symbol of a long sequence. */

import { useEffect, useState } from "preact/hooks";
import type { Race, Run } from "../../answers";
import { canonical, frozen, offers, useAnswer } from "../../ask";
import { Lines } from "../../charts/lines";
import { useLink } from "../../link";
import { Notice } from "../../parts/notice";
import { Panel } from "../../parts/panel";
import { Checks, listed } from "../checks";
import { NumberField } from "../number";

interface Asked {
  equations: string;
  against: string[];
  steps: number;
  updates: number;
  seed: number;
}

const NOTE =
  "Each cell reads random symbols and has to name the first one at the end. Nothing else in the sequence helps.";

export function RacePanel({ run, equations, broken }: { run: Run; equations: string; broken: boolean }) {
  const [link, change] = useLink({ against: "elman,lstm,gru", raceSteps: 20, raceUpdates: 300, raceSeed: 0 });
  const [started, setStarted] = useState<Asked | null>(null);
  const stored = offers<Asked>("race").find((asked) => asked.equations === equations) ?? null;
  const { answer, error, waiting } = useAnswer<Race>("race", frozen ? stored : started);
  const done = answer?.done === true;
  useEffect(() => {
    // A race of an older draft is asked after no more, and so it stops; one that was run stays.
    if (started && !done && started.equations !== equations) setStarted(null);
  }, [started, done, equations]);
  const names = run.cells.map(({ name }) => name);
  const wanted: Asked = {
    equations,
    against: listed(link.against).filter((name) => names.includes(name)),
    steps: link.raceSteps,
    updates: link.raceUpdates,
    seed: link.raceSeed,
  };
  const same = started !== null && canonical(started) === canonical(wanted);
  if (frozen && stored === null) return null;
  return (
    <Panel title="Race" note={NOTE}>
      {!frozen && (
        <>
          <div class="controls">
            <Checks
              label="Against"
              names={names}
              chosen={wanted.against}
              onChange={(against) => change({ against: against.join(",") })}
          most={7}
        />
          </div>
          <div class="controls">
            <NumberField
              label="Length of a sequence"
              value={link.raceSteps}
              low={2}
              high={200}
              whole
              onChange={(raceSteps) => change({ raceSteps })}
            />
            <NumberField
              label="Updates"
              value={link.raceUpdates}
              low={1}
              high={2000}
              whole
              onChange={(raceUpdates) => change({ raceUpdates })}
            />
            <NumberField
              label="Seed"
              value={link.raceSeed}
              low={0}
              high={1000000}
              whole
              onChange={(raceSeed) => change({ raceSeed })}
            />
            <button
              type="button"
              data-role="start-race"
              disabled={broken || same}
              onClick={() => setStarted(wanted)}
            >
              {same ? (answer?.done ? "Raced" : "Racing…") : "Start the race"}
            </button>
          </div>
          {broken && <p class="faint">The equations have to be mended first.</p>}
        </>
      )}
      {error && (
        <Notice kind="error" title="The race could not be run">
          {error}
        </Notice>
      )}
      {!answer && waiting && <Notice kind="busy" title="At the start" />}
      {answer && <Course race={answer} />}
    </Panel>
  );
}

function Course({ race }: { race: Race }) {
  const good = race.racers.filter(({ error }) => error === "");
  return (
    <div data-role="race" data-done={race.done}>
      {race.racers
        .filter(({ error }) => error !== "")
        .map(({ name, error }) => (
          <Notice key={name} kind="error" title={`${name} did not finish`}>
            {error}
          </Notice>
        ))}
      <Lines
        title={
          race.done
            ? `Loss over ${race.updates} updates`
            : `Loss, ${Math.max(0, ...good.map(({ losses }) => losses.length))} of ${race.updates} updates so far`
        }
        x="update"
        y="loss"
        height={280}
        series={good.map(({ name, losses }) => ({ name, points: losses.map((loss, k) => [k + 1, loss]) }))}
      />
      <table>
        <thead>
          <tr>
            <th scope="col">Cell</th>
            <th scope="col" class="number">
              Last loss
            </th>
            <th scope="col" class="number">
              Accuracy on new sequences
            </th>
          </tr>
        </thead>
        <tbody>
          {good.map(({ name, losses, accuracy }) => (
            <tr key={name} data-name={name} data-value={accuracy ?? ""}>
              <td class="mono">{name}</td>
              <td class="mono number">{losses.at(-1)?.toFixed(3) ?? "–"}</td>
              <td class="mono number">{accuracy === null ? "…" : `${(100 * accuracy).toFixed(1)}%`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
