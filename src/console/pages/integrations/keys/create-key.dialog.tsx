/** Creates an API key, then shows it once with an example request. */
import { useMutation } from "@apollo/client/react";
import { Checkbox, Group, Select, Stack, Textarea, TextInput } from "@mantine/core";
import { useForm, type UseFormReturnType } from "@mantine/form";
import { useState, type ReactNode } from "react";
import { useMode } from "../../../app/session/session.ts";
import type { DialogState } from "../../../app/interaction/use-dialog.ts";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { useSubmit } from "../../../app/interaction/use-submit.ts";
import { Dialog } from "../../../components/dialogs/dialog.tsx";
import { DialogActions } from "../../../components/dialogs/dialog-actions.tsx";
import { FormAlert } from "../../../components/forms/form-alert.tsx";
import { CreateApiKeyDocument } from "../../../generated/api-keys.ts";
import {
  cidrsErrorMessage,
  keyInput,
  validateKey,
  lifetimeOptions,
  emptyKeyValues,
  type KeyFormValues,
} from "./key.form.ts";
import { KeyCreated, type IssuedKey } from "./key-created.tsx";
import { scopeLabels } from "./scope.labels.ts";

export function CreateKeyDialog({ dialog }: { dialog: DialogState<true> }) {
  return <CreateKeySteps key={dialog.openCount} dialog={dialog} />;
}

function CreateKeySteps({ dialog: { isOpen, close } }: { dialog: DialogState<true> }) {
  const [issued, setIssued] = useState<IssuedKey | null>(null);
  const name = useMode() === "test" ? "test key" : "API key";
  return (
    <Dialog
      opened={isOpen}
      onClose={close}
      size="lg"
      title={issued ? `Your new ${name}` : `Create ${name}`}
      isShownOnce={issued !== null}
    >
      {issued ? <KeyCreated issued={issued} onDone={close} /> : <CreateKeyForm onIssued={setIssued} />}
    </Dialog>
  );
}

interface CreateKeyFormProps {
  onIssued: (issued: IssuedKey) => void;
}

function CreateKeyForm({ onIssued }: CreateKeyFormProps) {
  const isTestMode = useMode() === "test";
  const [create] = useMutation(CreateApiKeyDocument, { refetchQueries: ["ApiKeys"] });
  const form = useForm<KeyFormValues>({
    initialValues: { ...emptyKeyValues, isTest: isTestMode },
    validate: (values) => validateKey(values, Date.now()),
  });
  const submit = useSubmit(form, async (values) => {
    const { data } = await create({ variables: { input: keyInput(values, Date.now()) } });
    const { apiKey, secret } = payloadOrThrow(data?.createApiKey);
    if (apiKey && secret !== null) onIssued({ secret, scopes: apiKey.scopes });
  });
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit, submit.onInvalid)} noValidate>
      <Stack>
        <FormAlert failure={submit.failure} />
        <TextInput
          {...form.getInputProps("name")}
          label="Name"
          description="The integration that uses the key, and its environment"
          placeholder="Warehouse sync, production"
          maxLength={100}
          required
          data-autofocus
        />
        {!isTestMode && (
          <Checkbox
            {...form.getInputProps("isTest", { type: "checkbox" })}
            label="Test key"
            description="Sees and changes only test data, never live jobs"
          />
        )}
        <ScopeField form={form} />
        <LifetimeFields form={form} />
        <Textarea
          {...form.getInputProps("cidrs")}
          error={cidrsError(form)}
          label="Allowed IPs"
          description="IP addresses or CIDR ranges, one per line. Leave empty to allow any."
          placeholder="203.0.113.0/24"
          autosize
          minRows={1}
          maxRows={6}
          spellCheck={false}
        />
        <DialogActions action={isTestMode ? "Create test key" : "Create API key"} isBusy={submit.isBusy} />
      </Stack>
    </form>
  );
}

type KeyForm = UseFormReturnType<KeyFormValues>;

function cidrsError({ errors, values }: KeyForm): ReactNode {
  const { cidrs: error } = errors;
  return typeof error === "string" ? cidrsErrorMessage(error, values.cidrs) : error;
}

function ScopeField({ form }: { form: KeyForm }) {
  return (
    <Checkbox.Group
      {...form.getInputProps("scopes")}
      label="Permissions"
      description="Grant only what the integration needs"
      required
    >
      <Stack gap="sm" mt="xs">
        {scopeLabels.map(({ scope, code, description }) => (
          <Checkbox
            key={scope}
            value={scope}
            label={code}
            description={description}
            error={form.errors["scopes"] !== undefined}
          />
        ))}
      </Stack>
    </Checkbox.Group>
  );
}

function LifetimeFields({ form }: { form: KeyForm }) {
  return (
    <Group align="flex-start" grow>
      <Select
        {...form.getInputProps("lifetime")}
        label="Expires"
        data={lifetimeOptions}
        allowDeselect={false}
      />
      {form.values.lifetime === "day" && (
        <TextInput {...form.getInputProps("lastDay")} type="date" label="Last day" required />
      )}
    </Group>
  );
}
