/** How far a run is, in a sentence. */

import type { Training } from "../../answers";
import { frozen } from "../../ask";

const STOPPED = 300; // seconds without a line

export function Status({ training }: { training: Training }) {
  return (
    <p class="status" data-role="status" role="status">
      {words(training)}
    </p>
  );
}

function words(training: Training): string {
  const { epochs, steps, wanted, finished, quiet } = training;
  const done = epochs.at(-1)?.epoch ?? 0;
  const best = epochs.findLast((epoch) => epoch.best);
  if (finished) {
    const early = done < wanted ? `, ${wanted} were asked for` : "";
    return `Finished after ${counted(done, "epoch")}${early}${best ? `; the best was epoch ${best.epoch}` : ""}.`;
  }
  const at = `epoch ${Math.min(done + 1, wanted)} of ${wanted}`;
  if (frozen) return `Not finished when this report was made: ${at}.`;
  const lines = epochs.length + steps.step.length;
  if (lines === 0 && quiet < STOPPED) return `Begun ${ago(quiet)} ago: ${at}, no line in the log yet.`;
  if (quiet < STOPPED) return `Training: ${at}, last line ${ago(quiet)} ago.`;
  return `Quiet for ${ago(quiet)} in ${at}. If it has stopped, go on with unspool train --resume and the run's folder.`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function ago(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return counted(Math.round(seconds / 60), "minute");
  return counted(Math.round(seconds / 3600), "hour");
}
