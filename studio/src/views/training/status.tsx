/** How far a run is, in a sentence. */

import type { Training } from "../../answers";
import { frozen } from "../../ask";

const STOPPED = 300; // seconds without a line

export function Status({ training, name }: { training: Training; name: string }) {
  return (
    <p class="status" data-role="status" role="status">
      {words(training, name)}
    </p>
  );
}

function words(training: Training, name: string): string {
  const { epochs, wanted, finished, quiet } = training;
  const done = epochs.at(-1)?.epoch ?? 0;
  const best = epochs.findLast((epoch) => epoch.best);
  if (finished) {
    const early = done < wanted ? `, ${wanted} were asked for` : "";
    return `Finished after ${counted(done, "epoch")}${early}${best ? `; the best was epoch ${best.epoch}` : ""}.`;
  }
  const at = `epoch ${Math.min(done + 1, wanted)} of ${wanted}`;
  if (frozen) return `Not finished when this report was made: ${at}.`;
  if (quiet < STOPPED) return `Training: ${at}, last line ${ago(quiet)} ago.`;
  const run = name ? `…/${name}` : "RUN";
  return `Quiet for ${ago(quiet)} in ${at}: has it stopped? Resume with: unspool train --resume ${run}`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function ago(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return counted(Math.round(seconds / 60), "minute");
  return counted(Math.round(seconds / 3600), "hour");
}
