/** The second step of signing in: a code of the authenticator app, or a recovery code. */
import { Anchor, Button, Group, Stack, TextInput, type TextInputProps } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { focusOnArrival } from "../../app/focus.ts";
import { useSessionStore } from "../../app/session.ts";
import { useSubmit } from "../../app/use-submit.ts";
import { FormAlert } from "../../components/form-alert.tsx";
import { PageHeader } from "../../components/page-header.tsx";

type Kind = "totp" | "recovery_code";

const words = {
  totp: {
    description: "Enter the six digits that your authenticator app shows for Waymark.",
    label: "Code",
    other: "Use a recovery code",
  },
  recovery_code: {
    description: "Enter one of the recovery codes that you kept. Each is good once.",
    label: "Recovery code",
    other: "Use the authenticator app",
  },
} as const;

export function SecondFactorForm({ onBack }: { onBack: () => void }) {
  const session = useSessionStore();
  const [kind, setKind] = useState<Kind>("totp");
  const form = useForm({ mode: "uncontrolled", initialValues: { code: "" } });
  const submit = useSubmit(form, async ({ code }) => {
    await api.anonymous.post("auth/second-factor", { code: code.trim(), kind });
    await session.load();
  });
  const change = (): void => {
    form.reset();
    setKind(kind === "totp" ? "recovery_code" : "totp");
  };
  return (
    <>
      <PageHeader title="Second step" description={words[kind].description} />
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack>
          <FormAlert message={submit.failure} />
          <CodeInput key={kind} kind={kind} {...form.getInputProps("code")} />
          <Button type="submit" loading={submit.isBusy} fullWidth>
            Sign in
          </Button>
          <Group justify="space-between">
            <Anchor component="button" type="button" fz="sm" onClick={change}>
              {words[kind].other}
            </Anchor>
            <Anchor component="button" type="button" fz="sm" onClick={onBack}>
              Start again
            </Anchor>
          </Group>
        </Stack>
      </form>
    </>
  );
}

function CodeInput({ kind, ...props }: TextInputProps & { kind: Kind }) {
  return (
    <TextInput
      ref={focusOnArrival}
      label={words[kind].label}
      inputMode={kind === "totp" ? "numeric" : "text"}
      autoComplete="one-time-code"
      required
      withAsterisk={false}
      {...props}
    />
  );
}
