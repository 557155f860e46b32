/** The second part of signing in: a code from the authenticator app, or a recovery code. */
import { Anchor, Button, Group, Stack, TextInput, type TextInputProps } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { focusOnMount } from "../../app/interaction/focus-on-mount.ts";
import { useSessionStore } from "../../app/session/session.ts";
import { type CodeKind, sendCode } from "../../app/session/sign-in.ts";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { FormAlert } from "../../components/forms/form-alert.tsx";
import { PageHeader } from "../../components/layout/page-header.tsx";

const texts = {
  totp: {
    description: "Enter the six-digit code from your authenticator app.",
    label: "Code",
    switchTo: "Use a recovery code",
  },
  recovery_code: {
    description: "Enter one of your recovery codes. Each works once.",
    label: "Recovery code",
    switchTo: "Use your authenticator app",
  },
} as const;

export function TwoFactorForm({ onBack }: { onBack: () => void }) {
  const session = useSessionStore();
  const [kind, setKind] = useState<CodeKind>("totp");
  const form = useForm({ mode: "uncontrolled", initialValues: { code: "" } });
  const submit = useSubmit(form, async ({ code }) => {
    await sendCode(code, kind);
    await session.load();
  });
  const switchKind = (): void => {
    form.reset();
    setKind(kind === "totp" ? "recovery_code" : "totp");
  };
  return (
    <>
      <PageHeader title="Two-factor authentication" description={texts[kind].description} />
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack>
          <FormAlert failure={submit.failure} />
          <CodeInput key={kind} kind={kind} {...form.getInputProps("code")} />
          <Button type="submit" loading={submit.isBusy} fullWidth>
            Sign in
          </Button>
          <Group justify="space-between">
            <Anchor component="button" type="button" fz="sm" onClick={switchKind}>
              {texts[kind].switchTo}
            </Anchor>
            <Anchor component="button" type="button" fz="sm" onClick={onBack}>
              Start over
            </Anchor>
          </Group>
        </Stack>
      </form>
    </>
  );
}

function CodeInput({ kind, ...props }: TextInputProps & { kind: CodeKind }) {
  return (
    <TextInput
      ref={focusOnMount}
      label={texts[kind].label}
      inputMode={kind === "totp" ? "numeric" : "text"}
      autoComplete="one-time-code"
      required
      withAsterisk={false}
      {...props}
    />
  );
}
