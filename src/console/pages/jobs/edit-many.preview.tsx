/** The second step: what would become of each job. Refused ones come first. */
import { Alert, Button, Paper, Stack, Text } from "@mantine/core";
import { errorSentence } from "../../app/describe-error.ts";
import { focusOnArrival } from "../../app/focus.ts";
import { FormAlert } from "../../components/form-alert.tsx";
import { ChangeList } from "./change.list.tsx";
import type { Plan, PlanRow } from "./edit-many.plan.ts";
import { counted, type Names } from "./job.words.ts";
import type { EditMany } from "./use-edit-many.ts";
import classes from "./jobs.module.css";

export function PreviewChanges({ edit, plan, names }: { edit: EditMany; plan: Plan; names: Names }) {
  const of = (outcome: PlanRow["outcome"]): PlanRow[] => plan.rows.filter((row) => row.outcome === outcome);
  const [updated, failed, unchanged] = [of("UPDATED"), of("FAILED"), of("UNCHANGED")];
  return (
    <Stack>
      <Text ref={focusOnArrival} tabIndex={-1} className={classes.summary}>
        {counted(updated.length, "job")} would change
        {unchanged.length > 0 && `, ${unchanged.length} ${unchanged.length === 1 ? "is" : "are"} so already`}
        {failed.length > 0 && `, ${failed.length} cannot be changed so`}. Nothing has been changed yet.
      </Text>
      <FormAlert message={edit.error === null ? null : errorSentence(edit.error)} />
      <Refused rows={failed} title="These will be left as they are" />
      <Rows title="Would change" rows={updated} names={names} />
      <Unchanged rows={unchanged} />
      <div className={classes.actions}>
        <Button variant="default" onClick={edit.back} disabled={edit.isBusy}>
          Back
        </Button>
        <Button loading={edit.isBusy} disabled={updated.length === 0} onClick={() => void edit.apply(plan)}>
          Change {counted(updated.length, "job")}
        </Button>
      </div>
    </Stack>
  );
}

export function Refused({ rows, title }: { rows: readonly PlanRow[]; title: string }) {
  if (rows.length === 0) return null;
  return (
    <Alert color="amber" title={title}>
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

function Rows({ title, rows, names }: { title: string; rows: readonly PlanRow[]; names: Names }) {
  if (rows.length === 0) return null;
  return (
    <Paper component="section" aria-label={title} p="sm">
      <Stack component="ul" gap="sm" m={0} p={0} style={{ listStyle: "none" }}>
        {rows.map(({ markingNumber, changes }) => (
          <li key={markingNumber}>
            <Text fw={600} fz="sm">
              {markingNumber}
            </Text>
            <ChangeList changes={changes} names={names} />
          </li>
        ))}
      </Stack>
    </Paper>
  );
}

function Unchanged({ rows }: { rows: readonly PlanRow[] }) {
  if (rows.length === 0) return null;
  return (
    <Text fz="sm" c="dimmed">
      So already: {rows.map(({ markingNumber }) => markingNumber).join(", ")}.
    </Text>
  );
}
