/** Edits a job. Changes that other users make meanwhile are never overwritten silently. */
import { Button, Stack, Text, Title, Group } from "@mantine/core";
import { useUnsavedInput } from "../../../app/interaction/unsaved-changes.tsx";
import type { JobRowFragment } from "../../../generated/job-row.ts";
import { Dialog } from "../../../components/dialogs/dialog.tsx";
import { CancelButton } from "../../../components/dialogs/dialog-actions.tsx";
import { FormAlert } from "../../../components/forms/form-alert.tsx";
import { FIELD_GROUPS, jobFields, fieldLabel, type FieldName } from "../job.fields.ts";
import { JobFieldInput } from "../job-field.input.tsx";
import { type ReferenceLabels, formatValue } from "../job.labels.ts";
import type { ReferenceData } from "../use-reference-data.ts";
import { useEditJob, type EditJob } from "./use-edit-job.ts";
import classes from "../list/jobs.module.css";
import { Alert } from "../../../components/status/alert.tsx";
import type { FieldConflict } from "./job.merge.ts";

interface EditJobProps {
  job: JobRowFragment;
  referenceData: ReferenceData;
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

/** Mounted again each time the drawer opens. */
function EditJobForm({ job, referenceData, onClose, onReload }: EditJobProps) {
  const edit = useEditJob({ job, referenceData, onSaved: onClose, onReload });
  useUnsavedInput(() => (edit.isBusy ? "locked" : edit.isChanged ? "changed" : "clean"));
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        edit.save();
      }}
    >
      <div className={classes.alerts}>
        <FormAlert failure={edit.failure} />
        <ChangesByOthers edit={edit} labels={referenceData.labels} />
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
                  onChange={(value) => edit.setValue(field.name, value)}
                  referenceData={referenceData}
                  error={edit.problems[field.name]}
                  description={edit.hints[field.name]}
                />
              ))}
          </Stack>
        ))}
        <div className={classes.actions}>
          {edit.conflicts.length > 0 && (
            <Text fz="sm" c="dimmed" me="auto">
              Choose which values to keep first.
            </Text>
          )}
          <CancelButton isBusy={edit.isBusy} />
          <Button type="submit" loading={edit.isBusy} disabled={!edit.isChanged || edit.conflicts.length > 0}>
            Save
          </Button>
        </div>
      </Stack>
    </form>
  );
}

/** Fields that other users changed since the form was opened. */
function ChangesByOthers({ edit, labels }: { edit: EditJob; labels: ReferenceLabels }) {
  const { conflicts, changedByOthers } = edit;
  return (
    <div role="status">
      {changedByOthers.length > 0 && (
        <Alert color="amber" title="This job has changed" guide="screen">
          <Stack gap="sm">
            <span>
              Someone else changed {changedByOthers.map(fieldLabel).join(", ")} while you were editing.
              {conflicts.length > 0 ? " Choose which value to keep." : " The form shows the new values."}
            </span>
            {conflicts.map((conflict) => (
              <ConflictChoice
                key={conflict.name}
                conflict={conflict}
                labels={labels}
                onChoose={edit.resolveConflict}
              />
            ))}
          </Stack>
        </Alert>
      )}
    </div>
  );
}

interface ConflictChoiceProps {
  conflict: FieldConflict;
  labels: ReferenceLabels;
  onChoose: (name: FieldName, value: string) => void;
}

/** A field that two users changed: both values, and a button for each. */
function ConflictChoice({ conflict: { name, base, mine, theirs }, labels, onChoose }: ConflictChoiceProps) {
  const label = fieldLabel(name);
  return (
    <div className={classes.conflict} role="group" aria-label={label}>
      <Text fz="sm" style={{ overflowWrap: "anywhere" }}>
        <strong>{label}</strong> was {formatValue(name, base, labels)}. Theirs:{" "}
        <strong>{formatValue(name, theirs, labels)}</strong>. Yours:{" "}
        <strong>{formatValue(name, mine, labels)}</strong>.
      </Text>
      <Group gap="xs" mt="xs">
        <Button size="xs" variant="default" onClick={() => onChoose(name, theirs)}>
          Use theirs
        </Button>
        <Button size="xs" variant="default" onClick={() => onChoose(name, mine)}>
          Keep mine
        </Button>
      </Group>
    </div>
  );
}
