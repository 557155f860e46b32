/** Imports jobs from a file in four steps: file, columns, preview, import. */
import { useState } from "react";
import { useUnsavedInput } from "../../../app/interaction/unsaved-changes.tsx";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { FileStep, type ChosenFile } from "./file.step.tsx";
import { MappingStep } from "./mapping.step.tsx";
import { PreviewStep } from "./preview.step.tsx";
import { ResultStep } from "./result.step.tsx";
import { ImportSteps } from "./steps.tsx";
import type { ImportPlan } from "./import-api.ts";

type State =
  | { step: "file" }
  | { step: "mapping"; chosen: ChosenFile; plan: ImportPlan }
  | { step: "preview"; chosen: ChosenFile; plan: ImportPlan }
  | { step: "result"; chosen: ChosenFile; plan: ImportPlan };

export function ImportPage() {
  const [state, setState] = useState<State>({ step: "file" });
  useUnsavedInput(() => (state.step === "mapping" || state.step === "preview" ? "changed" : "clean"));
  const restart = (): void => setState({ step: "file" });
  return (
    <>
      <PageHeader
        title="Import jobs"
        description="From a CSV, Excel or NDJSON file. Existing jobs are updated by their Marking Number; others are created."
      />
      <ImportSteps current={state.step} />
      {state.step === "file" && (
        <FileStep onChosen={(chosen, plan) => setState({ step: "mapping", chosen, plan })} />
      )}
      {state.step === "mapping" && (
        <MappingStep
          {...state}
          onBack={restart}
          onMapped={(plan) => setState({ step: "preview", chosen: state.chosen, plan })}
        />
      )}
      {state.step === "preview" && (
        <PreviewStep
          {...state}
          onBack={() => setState({ ...state, step: "mapping" })}
          onConfirm={() => setState({ ...state, step: "result" })}
        />
      )}
      {state.step === "result" && <ResultStep {...state} onRestart={restart} />}
    </>
  );
}
