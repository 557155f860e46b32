/** Adds or edits a status. */
import { useMutation } from "@apollo/client/react";
import { Select, Stack, Switch, TextInput, type TextInputProps } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notify } from "../../../app/interaction/notify.tsx";
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
import { Alert } from "../../../components/status/alert.tsx";
import { statusCategoryOptions } from "./status.categories.ts";

interface StatusFormProps {
  onClose: () => void;
  /** Null to add a status. */
  status: StatusRowFragment | null;
  onSaved: () => void;
}

export function StatusDialog({ opened, ...form }: StatusFormProps & { opened: boolean }) {
  return (
    <Dialog
      opened={opened}
      onClose={form.onClose}
      title={form.status ? `Edit “${form.status.label}”` : "Add a status"}
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
      code: (code) =>
        CODE_PATTERN.test(code) ? null : "Use lower-case letters, digits and _, at most 64 characters",
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
    notify(`Status “${input.label}” ${status ? "saved" : "added"}.`);
  });
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack>
        <FormAlert failure={submit.failure} />
        <TextInput
          {...form.getInputProps("label")}
          label="Label"
          description="Shown to users."
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
          label="Final status"
          description="Jobs with this status are usually finished. They can still change to any other status."
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
        isKnown
          ? "Used by integrations. It can’t be changed."
          : "Used by integrations, such as in_customs. It can’t be changed later."
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
    <Alert color="gray" title="Effect" guide="screen">
      {isNew
        ? "Every partner can use the status immediately and may receive it in events and responses. It can’t be removed."
        : "Everyone sees the new label immediately, including on past jobs, and dashboards use the new category. No job changes and no events are sent."}
    </Alert>
  );
}
