/** The second step: preview the changes. Rejected jobs come first. */
import { formatCount } from "../../../app/formats.ts";
import { Button, Paper, Stack, Text } from "@mantine/core";
import { describeError } from "../../../app/api/describe-error.ts";
import { focusOnMount } from "../../../app/interaction/focus-on-mount.ts";
import { FormAlert } from "../../../components/forms/form-alert.tsx";
import { ChangeList } from "../change.list.tsx";
import { LatenessSummary } from "./lateness.summary.tsx";
import { affectsLateness, type BulkEditPlan, type BulkEditRow } from "./plan.ts";
import type { ReferenceLabels } from "../job.labels.ts";
import type { BulkEdit } from "./use-bulk-edit.ts";
import classes from "../list/jobs.module.css";
import { Alert } from "../../../components/status/alert.tsx";

export function BulkEditPreviewStep({
  bulkEdit,
  plan,
  labels,
}: {
  bulkEdit: BulkEdit;
  plan: BulkEditPlan;
  labels: ReferenceLabels;
}) {
  const rowsWith = (outcome: BulkEditRow["outcome"]): BulkEditRow[] =>
    plan.rows.filter((row) => row.outcome === outcome);
  const [updated, failed, unchanged] = [rowsWith("UPDATED"), rowsWith("FAILED"), rowsWith("UNCHANGED")];
  return (
    <Stack>
      <Text ref={focusOnMount} tabIndex={-1} className={classes.summary}>
        {formatCount(updated.length, "job")} will change
        {unchanged.length > 0 &&
          `, ${unchanged.length} already ${unchanged.length === 1 ? "matches" : "match"}`}
        {failed.length > 0 && `, ${failed.length} can’t be changed`}. Nothing has been changed yet.
      </Text>
      <FormAlert failure={bulkEdit.error === null ? null : describeError(bulkEdit.error)} />
      {affectsLateness(plan.change) && <LatenessSummary rows={plan.rows} />}
      <RejectedRows rows={failed} title="These jobs can’t be changed" />
      <ChangedRows title="Changes" rows={updated} labels={labels} />
      <UnchangedRows rows={unchanged} />
      <div className={classes.actions}>
        <Button variant="default" onClick={bulkEdit.back} disabled={bulkEdit.isBusy}>
          Back
        </Button>
        <Button
          loading={bulkEdit.isBusy}
          disabled={updated.length === 0}
          onClick={() => void bulkEdit.apply(plan)}
        >
          {plan.change.kind === "reschedule" ? "Reschedule" : "Change"} {formatCount(updated.length, "job")}
        </Button>
      </div>
    </Stack>
  );
}

export function RejectedRows({ rows, title }: { rows: readonly BulkEditRow[]; title: string }) {
  if (rows.length === 0) return null;
  return (
    <Alert color="amber" title={title} guide="screen">
      <Stack component="ul" gap={4} m={0} ps="md">
        {rows.map(({ markingNumber, problems }) => (
          <li key={markingNumber}>
            <strong>{markingNumber}</strong>: {problems.join(" ")}
          </li>
        ))}
      </Stack>
    </Alert>
  );
}

function ChangedRows({
  title,
  rows,
  labels,
}: {
  title: string;
  rows: readonly BulkEditRow[];
  labels: ReferenceLabels;
}) {
  if (rows.length === 0) return null;
  return (
    <Paper component="section" aria-label={title} p="sm">
      <Stack component="ul" gap="sm" m={0} p={0} style={{ listStyle: "none" }}>
        {rows.map(({ markingNumber, changes }) => (
          <li key={markingNumber}>
            <Text fw={600} fz="sm">
              {markingNumber}
            </Text>
            <ChangeList changes={changes} labels={labels} />
          </li>
        ))}
      </Stack>
    </Paper>
  );
}

function UnchangedRows({ rows }: { rows: readonly BulkEditRow[] }) {
  if (rows.length === 0) return null;
  return (
    <Text fz="sm" c="dimmed">
      Already match: {rows.map(({ markingNumber }) => markingNumber).join(", ")}.
    </Text>
  );
}
