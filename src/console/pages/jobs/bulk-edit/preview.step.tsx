/** The second step: preview the changes of all jobs. Refused ones come first. */
import { formatCount, formatNumber } from "../../../app/formats.ts";
import { Button, Paper, Stack, Text } from "@mantine/core";
import { focusOnMount } from "../../../app/interaction/focus-on-mount.ts";
import { ChangeList } from "../change.list.tsx";
import { JobGroup, MAX_SHOWN, RefusedJobs } from "./job-groups.tsx";
import { LatenessSummary } from "./lateness.summary.tsx";
import { affectsLateness, groupRefusals, type BulkPlan, type PlannedJob } from "./plan.ts";
import type { ReferenceLabels } from "../job.labels.ts";
import classes from "../list/jobs.module.css";

interface BulkEditPreviewStepProps {
  plan: BulkPlan;
  labels: ReferenceLabels;
  onBack: () => void;
  onApply: () => void;
}

export function BulkEditPreviewStep({ plan, labels, onBack, onApply }: BulkEditPreviewStepProps) {
  const jobsWith = (outcome: PlannedJob["outcome"]): PlannedJob[] =>
    plan.jobs.filter((job) => job.outcome === outcome);
  const [updated, failed, unchanged] = [jobsWith("UPDATED"), jobsWith("FAILED"), jobsWith("UNCHANGED")];
  return (
    <Stack>
      <Text ref={focusOnMount} tabIndex={-1} className={classes.summary}>
        {formatCount(updated.length, "job")} will change
        {unchanged.length > 0 &&
          `, ${formatNumber(unchanged.length)} already ${unchanged.length === 1 ? "matches" : "match"}`}
        {failed.length > 0 && `, ${formatNumber(failed.length)} can’t be changed`}. Nothing has been changed
        yet.
      </Text>
      {affectsLateness(plan.change) && <LatenessSummary rows={plan.jobs} />}
      <RefusedJobs refused={groupRefusals(failed)} title="can’t be changed" />
      <ChangedJobs jobs={updated} labels={labels} />
      <JobGroup title="Already match" markingNumbers={unchanged.map(({ markingNumber }) => markingNumber)} />
      <div className={classes.actions}>
        <Button variant="default" onClick={onBack}>
          Back
        </Button>
        <Button disabled={updated.length === 0} onClick={onApply}>
          {plan.change.kind === "reschedule" ? "Reschedule" : "Change"} {formatCount(updated.length, "job")}
        </Button>
      </div>
    </Stack>
  );
}

function ChangedJobs({ jobs, labels }: { jobs: readonly PlannedJob[]; labels: ReferenceLabels }) {
  if (jobs.length === 0) return null;
  return (
    <Paper component="section" aria-label="Changes" p="sm">
      <Stack component="ul" gap="sm" m={0} p={0} style={{ listStyle: "none" }}>
        {jobs.slice(0, MAX_SHOWN).map(({ markingNumber, changes }) => (
          <li key={markingNumber}>
            <Text fw={600} fz="sm">
              {markingNumber}
            </Text>
            <ChangeList changes={changes} labels={labels} />
          </li>
        ))}
      </Stack>
      {jobs.length > MAX_SHOWN && (
        <Text fz="sm" c="dimmed" mt="sm">
          The first {MAX_SHOWN} of {formatCount(jobs.length, "job")} are listed. All of them were checked.
        </Text>
      )}
    </Paper>
  );
}
