/** The Translate view: the best translations, what each looked at, and how they were found. */

import type { Run, Translated } from "../answers";
import { canonical, frozen, offers, useAnswer } from "../ask";
import { Alignment } from "../charts/alignment";
import { prose } from "../charts/labels";
import { useLink } from "../link";
import { Notice } from "../parts/notice";
import { Panel } from "../parts/panel";
import { Select } from "../parts/select";
import { Beam } from "./translate/beam";
import { type Asked, AskForm, WIDEST, within } from "./translate/form";
import { Nbest } from "./translate/nbest";
import "./translate.css";

const FRESH = { chosen: 0, grown: -1 }; // a new answer is looked at from its start

export function TranslateView({ run }: { run: Run }) {
  const [state, set] = useLink({
    text: "",
    tag: run.tags[0] ?? "",
    width: 5,
    nbest: 5,
    normalise: "mean",
    pruned: true,
    ...FRESH,
  });
  const { text, tag, normalise } = state;
  const width = within(state.width, WIDEST);
  const typed = { text, tag, width, nbest: within(state.nbest, width), normalise };
  const asked = frozen ? storedLike(typed) : typed;
  const { answer, error, waiting } = useAnswer<Translated>("translate", asked?.text.trim() ? asked : null);
  const onAsk = (change: Partial<Asked>) => set({ ...change, ...FRESH });
  return (
    <>
      {frozen ? <Offers asked={asked} onAsk={onAsk} /> : <AskForm run={run} asked={typed} onAsk={onAsk} />}
      <div class="answer" aria-busy={waiting}>
        {error && (
          <Notice kind="error" title="This could not be translated">
            {error}
          </Notice>
        )}
        {!answer && waiting && <Notice kind="busy" title="Translating" />}
        {!answer && !waiting && !error && (
          <Notice kind="empty" title="Nothing translated yet">
            {frozen ? "This report holds no translations." : "Type a text and press Enter, or choose an example."}
          </Notice>
        )}
        {answer && <Answer answer={answer} state={state} set={set} />}
      </div>
    </>
  );
}

/** The stored question that is this one, else the first that was stored. */
function storedLike(typed: Asked): Asked | null {
  const stored = offers<Asked>("translate");
  return stored.find((each) => canonical(each) === canonical(typed)) ?? stored[0] ?? null;
}

function Offers({ asked, onAsk }: { asked: Asked | null; onAsk: (to: Asked) => void }) {
  const stored = offers<Asked>("translate");
  if (!asked) return null;
  const tagged = new Set(stored.map((each) => each.tag)).size > 1;
  return (
    <div class="ask">
      <Select
        label="Text"
        value={String(stored.indexOf(asked))}
        onChange={(to) => onAsk(stored[Number(to)]!)}
        options={stored.map((each, index) => ({
          value: String(index),
          label: prose(tagged ? `${each.text} → ${each.tag}` : each.text),
        }))}
      />
      <p class="label">
        beam width {asked.width}, scores by {asked.normalise}
      </p>
    </div>
  );
}

interface AnswerProps {
  answer: Translated;
  state: { chosen: number; grown: number; pruned: boolean };
  set: (change: { chosen?: number; grown?: number; pruned?: boolean }) => void;
}

function Answer({ answer, state, set }: AnswerProps) {
  const chosen = Math.min(Math.max(0, Math.round(state.chosen)), answer.best.length - 1);
  const hypothesis = answer.best[chosen];
  if (!hypothesis) {
    return (
      <Notice kind="empty" title="The search found nothing">
        A wider beam may find more.
      </Notice>
    );
  }
  const pick = (node: number) => {
    const found = answer.best.findIndex((each) => each.node === node);
    if (found >= 0) set({ chosen: found });
  };
  return (
    <>
      <div class="translated">
        <Nbest best={answer.best} chosen={chosen} onChoose={(to) => set({ chosen: to })} />
        <Panel title="What it looked at">
          {hypothesis.weights ? (
            <Alignment
              source={answer.source}
              target={hypothesis.tokens}
              weights={hypothesis.weights}
              title="Weights of the attention"
            />
          ) : (
            <Notice kind="empty" title="This model has no attention">
              Train with attention to see which source tokens each target token was read from.
            </Notice>
          )}
        </Panel>
      </div>
      <Beam
        tree={answer.tree}
        chosen={hypothesis.node}
        grown={state.grown}
        pruned={state.pruned}
        onGrow={(grown) => set({ grown })}
        onPruned={(pruned) => set({ pruned })}
        onPick={pick}
      />
    </>
  );
}
