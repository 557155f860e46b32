/** Choosing a new password by the link of a mail. Every session ends with the old one. */
import { Button, Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { useSubmit } from "../../app/use-submit.ts";
import { KnownEmail } from "../../components/email-field.tsx";
import { FormAlert } from "../../components/form-alert.tsx";
import { ButtonLink } from "../../components/links.tsx";
import { NewPasswordInput } from "../../components/new-password-input.tsx";
import { Outcome } from "../../components/outcome.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { LinkGate } from "./link-gate.tsx";

export function ResetPasswordPage() {
  return (
    <LinkGate
      kind="password_reset"
      title="Choose a new password"
      whenGone="Links to a new password are good for an hour."
      wayOn={<ButtonLink to="/forgotten-password">Ask for a new link</ButtonLink>}
    >
      {({ token, link }) => <ResetForm token={token} email={link.email} />}
    </LinkGate>
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
      <Outcome title="Your password is changed" action={<ButtonLink to="/sign-in">Sign in</ButtonLink>}>
        You were signed out everywhere. Sign in with the new password.
      </Outcome>
    );
  }
  return (
    <>
      <PageHeader
        title="Choose a new password"
        description="It ends every session that the old one opened."
      />
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack>
          <FormAlert message={submit.failure} />
          <KnownEmail value={email} autoComplete="username" />
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
