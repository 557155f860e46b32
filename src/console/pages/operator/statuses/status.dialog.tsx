/** Adds a status to the catalogue, or changes one, and says what that means. */
import { useMutation } from "@apollo/client/react";
import { Alert, Select, Stack, Switch, TextInput, type TextInputProps } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notify } from "../../../app/interaction/notify.ts";
import { useSubmit } from "../../../app/interaction/use-submit.ts";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { Dialog } from "../../../components/dialogs/dialog.tsx";
import { DialogActions } from "../../../components/dialogs/dialog-actions.tsx";
import { FormAlert } from "../../../components/forms/form-alert.tsx";
import {
  UpsertJobStatusDocument,
  type JobStatusCategory,
  type StatusRowFragment,
} from "../../../generated/statuses.ts";
import { statusCategoryOptions } from "./status.categories.ts";

interface StatusFormProps {
  onClose: () => void;
  /** Null: a new one. */
  status: StatusRowFragment | null;
  onSaved: () => void;
}

export function StatusDialog({ opened, ...form }: StatusFormProps & { opened: boolean }) {
  return (
    <Dialog
      opened={opened}
      onClose={form.onClose}
      title={form.status ? `Change “${form.status.label}”` : "Add a status"}
    >
      <StatusForm {...form} />
    </Dialog>
  );
}

const CODE_PATTERN = /^[a-z0-9_]{1,64}$/;

function StatusForm({ onClose, status, onSaved }: StatusFormProps) {
  const [upsert] = useMutation(UpsertJobStatusDocument);
  const category: JobStatusCategory = status?.category ?? "IN_PROGRESS";
  const form = useForm({
    initialValues: { code: "", label: "", isTerminal: false, ...status, category },
    validate: {
      code: (code) => (CODE_PATTERN.test(code) ? null : "Small letters, digits and _, at most 64 characters"),
    },
  });
  const submit = useSubmit(form, async (values) => {
    const input = {
      code: values.code,
      label: values.label,
      category: values.category,
      isTerminal: values.isTerminal,
    };
    payloadOrThrow((await upsert({ variables: { input } })).data?.upsertJobStatus);
    onClose();
    onSaved();
    notify(status ? `“${input.label}” is changed.` : `“${input.label}” can be used from now on.`);
  });
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack>
        <FormAlert message={submit.errorMessage} />
        <TextInput
          {...form.getInputProps("label")}
          label="Label"
          description="What people read."
          maxLength={120}
          data-autofocus
          required
          withAsterisk={false}
        />
        <CodeInput {...form.getInputProps("code")} isKnown={status !== null} />
        <Select
          {...form.getInputProps("category")}
          label="Category"
          description={statusCategoryOptions.find(({ value }) => value === form.values.category)?.description}
          data={statusCategoryOptions.map(({ value, label }) => ({ value, label }))}
          allowDeselect={false}
        />
        <Switch
          {...form.getInputProps("isTerminal", { type: "checkbox" })}
          label="A job is usually done with it"
          description="Then it counts as neither open nor late. Any status may still follow."
        />
        <StatusImpactAlert isNew={status === null} />
        <DialogActions action={status ? "Save" : "Add status"} isBusy={submit.isBusy} />
      </Stack>
    </form>
  );
}

function CodeInput({ isKnown, ...input }: TextInputProps & { isKnown: boolean }) {
  return (
    <TextInput
      {...input}
      label="Code"
      description={
        isKnown ? "What programs use. It cannot be changed." : "What programs use, for good: in_customs."
      }
      readOnly={isKnown}
      maxLength={64}
      required
      withAsterisk={false}
    />
  );
}

function StatusImpactAlert({ isNew }: { isNew: boolean }) {
  return (
    <Alert color="gray" title="What this means">
      {isNew
        ? "Every partner may use the code at once, and can get it in events and answers. It cannot be taken away again."
        : "Everyone sees the new words at once, for past jobs too, and dashboards count by the new category. No job changes and no event is sent."}
    </Alert>
  );
}
