/** Sets a new password with a link from an e-mail. This ends all sessions of the user. */
import { Button, Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { api } from "../../app/api/client.ts";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { ReadOnlyEmailField } from "../../components/forms/email-field.tsx";
import { FormAlert } from "../../components/forms/form-alert.tsx";
import { ButtonLink } from "../../components/layout/links.tsx";
import { NewPasswordInput } from "../../components/forms/new-password-input.tsx";
import { FormResult } from "../../components/forms/form-result.tsx";
import { PageHeader } from "../../components/layout/page-header.tsx";
import { EmailTokenGate } from "./email-token-gate.tsx";

export function ResetPasswordPage() {
  return (
    <EmailTokenGate
      kind="password_reset"
      title="Choose a new password"
      invalidHint="Links to reset a password are valid for one hour."
      nextAction={<ButtonLink to="/forgotten-password">Request a new link</ButtonLink>}
    >
      {({ token, link }) => <ResetForm token={token} email={link.email} />}
    </EmailTokenGate>
  );
}

function ResetForm({ token, email }: { token: string; email: string }) {
  const [isDone, setIsDone] = useState(false);
  const form = useForm({ mode: "uncontrolled", initialValues: { password: "" } });
  const submit = useSubmit(form, async ({ password }) => {
    await api.anonymous.post("auth/password/reset", { token, password });
    setIsDone(true);
  });
  if (isDone) {
    return (
      <FormResult title="Password changed" action={<ButtonLink to="/sign-in">Sign in</ButtonLink>}>
        You have been signed out everywhere. Sign in with your new password.
      </FormResult>
    );
  }
  return (
    <>
      <PageHeader title="Choose a new password" description="You will be signed out on all devices." />
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack>
          <FormAlert failure={submit.failure} />
          <ReadOnlyEmailField value={email} autoComplete="username" />
          <NewPasswordInput
            key={form.key("password")}
            {...form.getInputProps("password")}
            label="New password"
          />
          <Button type="submit" loading={submit.isBusy} fullWidth>
            Change password
          </Button>
        </Stack>
      </form>
    </>
  );
}
