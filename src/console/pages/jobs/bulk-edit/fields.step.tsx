/** The first step: choose fields and their new values. */
import { formatCount } from "../../../app/formats.ts";
import { skipToken, useQuery } from "@apollo/client/react";
import { ActionIcon, Button, Checkbox, Group, Paper, Select, Stack, Text } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { focusFirstError } from "../../../app/interaction/use-submit.ts";
import { CancelButton } from "../../../components/dialogs/dialog-actions.tsx";
import { JobFieldInput } from "../job-field.input.tsx";
import { CountJobsDocument, type JobPatch } from "../../../generated/bulk-edit.ts";
import type { JobFilter } from "../../../generated/jobs.ts";
import { FIELD_GROUPS, findField, jobFields, type FieldName } from "../job.fields.ts";
import { statusTakesReason, type ReferenceData } from "../use-reference-data.ts";
import { CHUNK_SIZE, type JobSet } from "./plan.ts";
import type { FieldEditor } from "./use-field-editor.ts";
import classes from "../list/jobs.module.css";

interface BulkEditFieldsStepProps {
  fieldEditor: FieldEditor;
  jobs: JobSet;
  referenceData: ReferenceData;
  onPreview: (patch: JobPatch) => void;
}

export function BulkEditFieldsStep(props: BulkEditFieldsStepProps) {
  const { fieldEditor, jobs, referenceData, onPreview } = props;
  const scheduledDateHint = useScheduledDateHint(fieldEditor.names, jobs);
  const preview = (): void => {
    const patch = fieldEditor.toPatch();
    if (patch) onPreview(patch);
    else focusFirstError();
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        preview();
      }}
    >
      <Stack>
        <Text c="dimmed" fz="sm">
          Choose the fields to change. You can review every change before it is made.
        </Text>
        {fieldEditor.names.map((name) => (
          <EditedField
            key={name}
            name={name}
            fieldEditor={fieldEditor}
            referenceData={referenceData}
            description={name === "scheduledDate" ? scheduledDateHint : undefined}
          />
        ))}
        <AddField fieldEditor={fieldEditor} />
        <div className={classes.actions}>
          <CancelButton isBusy={false} />
          <Button type="submit" disabled={fieldEditor.names.length === 0}>
            Preview
          </Button>
        </div>
      </Stack>
    </form>
  );
}

/** Says how many of the jobs have a confirmed date, if only their scheduled date changes. */
function useScheduledDateHint(names: readonly FieldName[], jobs: JobSet): string | undefined {
  const isConfirmed = { scheduledDeliveryDate: { isNull: false } };
  const filter = filterOf(jobs);
  const isNeeded =
    filter !== undefined && names.includes("scheduledDate") && !names.includes("scheduledDeliveryDate");
  const { data } = useQuery(
    CountJobsDocument,
    isNeeded ? { variables: { filter: { and: [filter ?? {}, isConfirmed] } } } : skipToken,
  );
  const count = data?.jobs?.totalCount ?? 0;
  if (!isNeeded || count === 0) return undefined;
  return `${formatCount(count, "job has", "jobs have")} a confirmed date, which decides when they are due. To change when all jobs are due, use Reschedule instead.`;
}

/** Undefined for more jobs than a filter can list. */
function filterOf(jobs: JobSet): JobFilter | null | undefined {
  if (jobs.kind === "matching") return jobs.filter;
  const { markingNumbers } = jobs;
  return markingNumbers.length > CHUNK_SIZE ? undefined : { markingNumber: { in: [...markingNumbers] } };
}

function AddField({ fieldEditor }: { fieldEditor: FieldEditor }) {
  const groups = FIELD_GROUPS.map((group) => ({
    group,
    items: jobFields
      .filter((field) => field.group === group && !fieldEditor.names.includes(field.name))
      .map(({ name, label }) => ({ value: name, label })),
  })).filter(({ items }) => items.length > 0);
  if (groups.length === 0) return null;
  return (
    <Select
      label={fieldEditor.names.length === 0 ? "Field to change" : "Another field to change"}
      placeholder="Choose a field"
      searchable
      nothingFoundMessage="No matching field"
      data-autofocus
      data={groups}
      value={null}
      onChange={(name) => name !== null && fieldEditor.add(name)}
    />
  );
}

function EditedField({
  name,
  fieldEditor,
  referenceData,
  description,
}: {
  name: FieldName;
  fieldEditor: FieldEditor;
  referenceData: ReferenceData;
  description: string | undefined;
}) {
  const field = findField(name);
  if (!field) return null;
  const isCleared = fieldEditor.cleared.has(name);
  const takesReason = (status: string): boolean => statusTakesReason(referenceData, status);
  /** Adds the failure reason, to be cleared, with a status that has none, and removes it with another one. */
  const clearReason = (status: string): void => {
    const { names, cleared, values } = fieldEditor;
    const had = takesReason(values.normalizedStatus);
    if (had && !takesReason(status) && !names.includes("failureReason")) {
      fieldEditor.add("failureReason");
      fieldEditor.clear("failureReason", true);
    } else if (!had && takesReason(status) && cleared.has("failureReason")) {
      fieldEditor.remove("failureReason");
      fieldEditor.clear("failureReason", false);
    }
  };
  return (
    <Paper p="sm">
      <Group wrap="nowrap" align="flex-start" gap="xs">
        <Stack gap="xs" flex={1} miw={0}>
          <JobFieldInput
            field={field}
            value={isCleared ? "" : fieldEditor.values[name]}
            onChange={(value) => {
              if (name === "normalizedStatus") clearReason(value);
              fieldEditor.set(name, value);
            }}
            referenceData={referenceData}
            error={fieldEditor.problems[name]}
            description={description}
            disabled={isCleared}
          />
          {!field.isRequired && (
            <Checkbox
              size="xs"
              label="Clear this field"
              aria-label={`Clear ${field.label}`}
              checked={isCleared}
              onChange={({ currentTarget }) => fieldEditor.clear(name, currentTarget.checked)}
            />
          )}
        </Stack>
        <ActionIcon aria-label={`Don’t change ${field.label}`} onClick={() => fieldEditor.remove(name)}>
          <IconTrash size={16} aria-hidden="true" />
        </ActionIcon>
      </Group>
    </Paper>
  );
}
