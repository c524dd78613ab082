/** The best translations: the pressed one is looked at. */

import type { Hypothesis } from "../../answers";
import { prose } from "../../charts/labels";
import { short } from "../../charts/scale";
import { Panel } from "../../parts/panel";

interface NbestProps {
  best: Hypothesis[];
  chosen: number;
  onChoose: (index: number) => void;
}

export function Nbest({ best, chosen, onChoose }: NbestProps) {
  return (
    <Panel title={best.length === 1 ? "Translation" : `The ${best.length} best`} note="By score, the best first.">
      <ol class="nbest" data-role="nbest">
        {best.map((hypothesis, index) => (
          <li key={index}>
            <button
              type="button"
              aria-pressed={index === chosen}
              data-hypothesis={index}
              data-value={hypothesis.score}
              title={`score ${short(hypothesis.score, 6)}, log p ${short(hypothesis.log_prob, 6)}`}
              onClick={() => onChoose(index)}
            >
              <span class="rank">{index + 1}</span>
              <span>
                <bdi dir="auto">{prose(hypothesis.text) || "(nothing)"}</bdi>
                {!hypothesis.finished && <span class="score"> not finished</span>}
              </span>
              <span class="score">
                {short(hypothesis.score, 3)} · log p {short(hypothesis.log_prob, 3)}
              </span>
            </button>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
