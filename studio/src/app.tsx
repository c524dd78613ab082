/** The frame: whose run this is, its views, and the one that is open. */

import { useEffect } from "preact/hooks";
import type { Run } from "./answers";
import { frozen, useAnswer } from "./ask";
import { Header } from "./frame/header";
import { useShortcuts } from "./frame/shortcuts";
import { go, useView } from "./link";
import { Notice } from "./parts/notice";
import { Tabs } from "./parts/tabs";
import { CellView } from "./views/cell";
import { GradientsView } from "./views/gradients";
import { TextView } from "./views/text";
import { TrainingView } from "./views/training";
import { TranslateView } from "./views/translate";

const VIEWS = {
  training: { label: "Training", View: TrainingView },
  translate: { label: "Translate", View: TranslateView },
  text: { label: "Text", View: TextView },
  gradients: { label: "Gradients", View: GradientsView },
  cell: { label: "Cell", View: CellView },
};

type Name = keyof typeof VIEWS;

export function App() {
  const { answer: run, error } = useAnswer<Run>("run", {});
  const names = (run?.views ?? []).filter((name): name is Name => name in VIEWS);
  const [wanted, setView] = useView();
  const shown = names.find((name) => name === wanted) ?? names[0];
  const shortcuts = useShortcuts(names);

  useEffect(() => {
    if (shown && shown !== wanted) go(shown);
  }, [shown, wanted]);
  useEffect(() => {
    if (run) document.title = [run.name, "Unspool studio"].filter(Boolean).join(" · ");
  }, [run]);

  if (error) return <Notice kind="error" title="The run could not be read">{error}</Notice>;
  if (!run) return <Notice kind="busy" title="Opening the run" />;
  const View = shown && shown === wanted ? VIEWS[shown].View : null;
  return (
    <>
      <Header run={run} />
      <Tabs
        label="Views"
        value={shown ?? ""}
        onChange={setView}
        tabs={names.map((value) => ({ value, label: VIEWS[value].label }))}
        panel="view"
      />
      <main>
        <div id="view" role="tabpanel" aria-label={shown && VIEWS[shown].label} data-view={shown}>
          {View && <View key={shown} run={run} />}
          {names.length === 0 && <Notice kind="empty" title="There is nothing to show of this run yet" />}
        </div>
      </main>
      {shortcuts}
      {frozen && <ReportFooter name={run.name} />}
    </>
  );
}

function ReportFooter({ name }: { name: string }) {
  const maker = document.querySelector<HTMLMetaElement>("meta[name=generator]")?.content ?? "Unspool";
  return (
    <footer data-role="report-footer">
      A report by {maker}{name && ` on the run ${name}`}. It holds stored answers and asks nobody; to ask
      anything else, open the run in the studio: <code>unspool studio {name && "RUN"}</code>
    </footer>
  );
}
