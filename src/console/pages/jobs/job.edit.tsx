/** Changing a job. What somebody else changes meanwhile is never overwritten unseen. */
import { Alert, Button, Stack, Text, Title } from "@mantine/core";
import { useUnsaved } from "../../app/unsaved.tsx";
import type { JobRowFragment } from "../../generated/job-row.ts";
import { Dialog } from "../../components/dialog.tsx";
import { CancelButton } from "../../components/dialog-actions.tsx";
import { FormAlert } from "../../components/form-alert.tsx";
import { FIELD_GROUPS, jobFields, labelOfField } from "./job.fields.ts";
import { JobFieldInput } from "./job-field.input.tsx";
import { ClashChoice } from "./job.clash.tsx";
import type { Choices } from "./use-choices.ts";
import { useEditJob, type EditJob } from "./use-edit-job.ts";
import classes from "./jobs.module.css";

interface EditJobProps {
  job: JobRowFragment;
  choices: Choices;
  onClose: () => void;
  onReload: () => void;
}

export function EditJobDrawer({ opened, ...props }: EditJobProps & { opened: boolean }) {
  return (
    <Dialog
      isDrawer
      opened={opened}
      onClose={props.onClose}
      className={classes.drawer}
      size="lg"
      title={`Edit ${props.job.markingNumber}`}
    >
      <EditJobForm {...props} />
    </Dialog>
  );
}

/** It is made anew each time that the drawer opens. */
function EditJobForm({ job, choices, onClose, onReload }: EditJobProps) {
  const edit = useEditJob({ job, onSaved: onClose, onReload });
  useUnsaved(() => (edit.isBusy ? "locked" : edit.isChanged ? "changed" : "clean"));
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        edit.save();
      }}
    >
      <div className={classes.alerts}>
        <FormAlert message={edit.failure} />
        <Meanwhile edit={edit} choices={choices} />
      </div>
      <Stack gap="lg">
        {FIELD_GROUPS.map((group) => (
          <Stack key={group} component="section" gap="sm" aria-label={group}>
            <Title order={3}>{group}</Title>
            {jobFields
              .filter((field) => field.group === group)
              .map((field) => (
                <JobFieldInput
                  key={field.name}
                  field={field}
                  value={edit.values[field.name]}
                  onChange={(value) => edit.set(field.name, value)}
                  choices={choices}
                  error={edit.problems[field.name]}
                />
              ))}
          </Stack>
        ))}
        <div className={classes.actions}>
          {edit.clashes.length > 0 && (
            <Text fz="sm" c="dimmed" me="auto">
              First choose, above, between your values and theirs.
            </Text>
          )}
          <CancelButton isBusy={edit.isBusy} />
          <Button type="submit" loading={edit.isBusy} disabled={!edit.isChanged || edit.clashes.length > 0}>
            Save
          </Button>
        </div>
      </Stack>
    </form>
  );
}

/** What others have changed since the form was opened. */
function Meanwhile({ edit, choices }: { edit: EditJob; choices: Choices }) {
  const { clashes, changedMeanwhile } = edit;
  return (
    <div role="status">
      {changedMeanwhile.length > 0 && (
        <Alert color="amber" title="Somebody changed this job meanwhile">
          <Stack gap="sm">
            <span>
              {changedMeanwhile.map(labelOfField).join(", ")}: the form has the new values where you had
              changed nothing.
              {clashes.length > 0 && " You both changed what follows: choose which value stands, then save."}
            </span>
            {clashes.map((clash) => (
              <ClashChoice key={clash.name} clash={clash} names={choices.names} onChoose={edit.settle} />
            ))}
          </Stack>
        </Alert>
      )}
    </div>
  );
}
