/** Starts a run of the selected job and shows its progress. */
import { useMutation } from "@apollo/client/react";
import { Button, Group, Select, SimpleGrid, Stack, TagsInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconPlayerPlay } from "@tabler/icons-react";
import { guide } from "../../app/guide/guide-pages.ts";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { payloadOrThrow } from "../../app/api/user-errors.ts";
import { FormAlert } from "../../components/forms/form-alert.tsx";
import { Panel } from "../../components/layout/panel.tsx";
import { EmptyNote } from "../../components/status/empty-note.tsx";
import type { JobRowFragment } from "../../generated/job-row.ts";
import { RunTestJobDocument, type JobRunPath } from "../../generated/simulator.ts";
import { useReferenceData } from "../jobs/use-reference-data.ts";
import { startedRun } from "./run.progress.ts";
import { RunSteps } from "./run.steps.tsx";
import type { Simulator } from "./use-simulator.ts";

const MAX_STEPS = 50;

const pathOptions: { value: JobRunPath | "own"; label: string }[] = [
  { value: "DELIVERED", label: "Delivered" },
  { value: "FAILED_THEN_DELIVERED", label: "Failed, then delivered" },
  { value: "RETURNED", label: "Returned" },
  { value: "ON_HOLD", label: "On hold" },
  { value: "CANCELLED", label: "Cancelled" },
  { value: "own", label: "Own list of statuses" },
];

const intervalOptions = [
  { value: "1000", label: "1 second" },
  { value: "5000", label: "5 seconds" },
  { value: "30000", label: "30 seconds" },
  { value: "60000", label: "1 minute" },
];

export function RunPanel({ simulator }: { simulator: Simulator }) {
  const { job, runs } = simulator;
  const run = job && runs[job.markingNumber];
  return (
    <Panel title="Run a job">
      {job ? (
        <Stack gap="lg">
          <RunForm job={job} simulator={simulator} />
          {run && <RunSteps run={run} job={job} onCancelled={() => simulator.removeRun(job.markingNumber)} />}
        </Stack>
      ) : (
        <EmptyNote guide={guide.runTestJob}>
          A run changes the status of a job step by step. Create a job first.
        </EmptyNote>
      )}
    </Panel>
  );
}

type Values = {
  path: JobRunPath | "own";
  steps: string[];
  /** Milliseconds. */
  interval: string;
};

const initialValues: Values = { path: "DELIVERED", steps: [], interval: "1000" };

function RunForm({ job, simulator }: { job: JobRowFragment; simulator: Simulator }) {
  const [start] = useMutation(RunTestJobDocument);
  const { statuses } = useReferenceData();
  const codes = statuses.map(({ code }) => code);
  const form = useForm<Values>({
    initialValues,
    validate: { steps: (steps, { path }) => (path === "own" ? stepsError(steps, codes) : null) },
  });
  const submit = useSubmit(form, async ({ path, steps, interval }) => {
    const route = path === "own" ? { steps } : { path };
    const input = { markingNumber: job.markingNumber, intervalMs: Number(interval), ...route };
    const { run } = payloadOrThrow((await start({ variables: { input } })).data?.runTestJob);
    if (run) simulator.addRun(startedRun(run, job));
  });
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit, submit.onInvalid)} noValidate>
      <Stack>
        <FormAlert failure={submit.failure} />
        <JobSelect job={job} simulator={simulator} />
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <Select {...form.getInputProps("path")} label="Path" data={pathOptions} allowDeselect={false} />
          <Select
            {...form.getInputProps("interval")}
            label="Time between steps"
            data={intervalOptions}
            allowDeselect={false}
          />
        </SimpleGrid>
        {form.values.path === "own" && (
          <TagsInput
            {...form.getInputProps("steps")}
            label="Statuses"
            description={`In this order, at most ${MAX_STEPS}. A status may occur more than once.`}
            data={codes}
            maxTags={MAX_STEPS}
            allowDuplicates
            required
          />
        )}
        <Group justify="flex-end">
          <Button
            type="submit"
            loading={submit.isBusy}
            leftSection={<IconPlayerPlay size={16} aria-hidden="true" />}
          >
            Start run
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function JobSelect({ job, simulator: { jobs, select } }: { job: JobRowFragment; simulator: Simulator }) {
  const numbers = new Set([job, ...(jobs ?? [])].map(({ markingNumber }) => markingNumber));
  return (
    <Select
      label="Job"
      data={[...numbers].toSorted()}
      value={job.markingNumber}
      onChange={(markingNumber) => markingNumber !== null && select(markingNumber)}
      allowDeselect={false}
    />
  );
}

function stepsError(steps: readonly string[], codes: readonly string[]): string | null {
  if (steps.length === 0) return "Add at least one status.";
  const unknown = steps.find((step) => codes.length > 0 && !codes.includes(step));
  return unknown === undefined ? null : `${unknown} is not a status code.`;
}
