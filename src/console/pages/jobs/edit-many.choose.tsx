/** The first step: which fields, and their new values. */
import { ActionIcon, Button, Checkbox, Group, Paper, Select, Stack, Text } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { errorSentence } from "../../app/describe-error.ts";
import { focusFirstError } from "../../app/use-submit.ts";
import { CancelButton } from "../../components/dialog-actions.tsx";
import { FormAlert } from "../../components/form-alert.tsx";
import { JobFieldInput } from "./job-field.input.tsx";
import { FIELD_GROUPS, fieldOf, jobFields, type FieldName } from "./job.fields.ts";
import type { Choices } from "./use-choices.ts";
import type { EditMany } from "./use-edit-many.ts";
import type { FieldChoice } from "./use-field-choice.ts";
import classes from "./jobs.module.css";

interface ChooseFieldsProps {
  edit: EditMany;
  chosen: FieldChoice;
  choices: Choices;
}

export function ChooseFields({ edit, chosen, choices }: ChooseFieldsProps) {
  const preview = (): void => {
    const patch = chosen.toPatch();
    if (patch) void edit.preview(patch);
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
          Choose what to change. You will see what becomes of each job before anything is changed.
        </Text>
        <FormAlert message={edit.error === null ? null : errorSentence(edit.error)} />
        {chosen.names.map((name) => (
          <ChosenField key={name} name={name} chosen={chosen} choices={choices} />
        ))}
        <AddField chosen={chosen} />
        <div className={classes.actions}>
          <CancelButton isBusy={edit.isBusy} />
          <Button type="submit" loading={edit.isBusy} disabled={chosen.names.length === 0}>
            Preview
          </Button>
        </div>
      </Stack>
    </form>
  );
}

function AddField({ chosen }: { chosen: FieldChoice }) {
  const groups = FIELD_GROUPS.map((group) => ({
    group,
    items: jobFields
      .filter((field) => field.group === group && !chosen.names.includes(field.name))
      .map(({ name, label }) => ({ value: name, label })),
  })).filter(({ items }) => items.length > 0);
  if (groups.length === 0) return null;
  return (
    <Select
      label={chosen.names.length === 0 ? "Field to change" : "Another field to change"}
      placeholder="Choose a field"
      searchable
      nothingFoundMessage="There is no such field"
      data-autofocus
      data={groups}
      value={null}
      onChange={(name) => name !== null && chosen.add(name)}
    />
  );
}

function ChosenField({ name, chosen, choices }: { name: FieldName; chosen: FieldChoice; choices: Choices }) {
  const field = fieldOf(name);
  if (!field) return null;
  const isCleared = chosen.cleared.has(name);
  return (
    <Paper p="sm">
      <Group wrap="nowrap" align="flex-start" gap="xs">
        <Stack gap="xs" flex={1} miw={0}>
          <JobFieldInput
            field={field}
            value={isCleared ? "" : chosen.values[name]}
            onChange={(value) => chosen.set(name, value)}
            choices={choices}
            error={chosen.problems[name]}
            disabled={isCleared}
          />
          {!field.isRequired && (
            <Checkbox
              size="xs"
              label="Clear it: the jobs will have no value"
              aria-label={`Clear ${field.label}`}
              checked={isCleared}
              onChange={({ currentTarget }) => chosen.clear(name, currentTarget.checked)}
            />
          )}
        </Stack>
        <ActionIcon aria-label={`Leave ${field.label} as it is`} onClick={() => chosen.remove(name)}>
          <IconTrash size={16} aria-hidden="true" />
        </ActionIcon>
      </Group>
    </Paper>
  );
}
