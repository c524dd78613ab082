/** The table of epochs. */

import type { Training } from "../../answers";
import { short } from "../../charts/scale";
import { Panel } from "../../parts/panel";

type Epoch = Training["epochs"][number];

export function EpochTable({ epochs, scores }: { epochs: Epoch[]; scores: string[] }) {
  if (epochs.length === 0) return null;
  const best = bestOf(epochs);
  return (
    <Panel title="Epochs">
      <div class="scroll">
        <table data-role="epochs">
          <thead>
            <tr>
              <th scope="col" class="number">
                epoch
              </th>
              <th scope="col" class="number">
                step
              </th>
              <th scope="col" class="number">
                mean loss
              </th>
              {scores.map((name) => (
                <th key={name} scope="col" class="number">
                  dev {name}
                </th>
              ))}
              <th scope="col">
                <span class="hidden">best</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {epochs.map((epoch) => (
              <Row key={epoch.epoch} epoch={epoch} scores={scores} best={epoch === best} />
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function Row({ epoch, scores, best }: { epoch: Epoch; scores: string[]; best: boolean }) {
  return (
    <tr class={best ? "best" : undefined} data-epoch={epoch.epoch}>
      <td class="number">{epoch.epoch}</td>
      <td class="number">{epoch.step}</td>
      <td class="number" data-name="mean_loss" data-value={epoch.mean_loss ?? ""}>
        {short(epoch.mean_loss)}
      </td>
      {scores.map((name) => (
        <td key={name} class="number" data-name={name} data-value={epoch.dev[name] ?? ""}>
          {name in epoch.dev ? short(epoch.dev[name] ?? null) : ""}
        </td>
      ))}
      <td>{best ? "★ best" : ""}</td>
    </tr>
  );
}

/** Each epoch was marked that was the best so far: the last of them is it. */
export function bestOf(epochs: Epoch[]): Epoch | undefined {
  return epochs.findLast((epoch) => epoch.best);
}
