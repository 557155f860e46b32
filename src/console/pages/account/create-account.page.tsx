/** Registering after an approval, and joining after an invitation: a name and a password make the account. */
import { Button, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { api } from "../../app/api/client.ts";
import { useUnsavedInput } from "../../app/interaction/unsaved-changes.tsx";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { ReadOnlyEmailField } from "../../components/forms/email-field.tsx";
import { FormAlert } from "../../components/forms/form-alert.tsx";
import { ButtonLink, TextLink } from "../../components/layout/links.tsx";
import { NewPasswordInput } from "../../components/forms/new-password-input.tsx";
import { FormResult } from "../../components/forms/form-result.tsx";
import { PageHeader } from "../../components/layout/page-header.tsx";
import { EmailTokenGate } from "./email-token-gate.tsx";
import type { EmailTokenView } from "./use-email-token.ts";

export function RegisterPage() {
  return (
    <EmailTokenGate
      kind="registration"
      title="Register"
      invalidHint="If you have registered already, sign in. If not, ask whoever approved your account to send the link again."
      nextAction={<ButtonLink to="/sign-in">To the sign-in page</ButtonLink>}
    >
      {(good) => (
        <CreateAccountForm
          {...good}
          title="Register"
          description={`You are the first owner of ${organizationLabel(good.link)}.`}
        />
      )}
    </EmailTokenGate>
  );
}

export function InvitationPage() {
  return (
    <EmailTokenGate
      kind="invitation"
      title="Join"
      invalidHint="If you have joined already, sign in. If not, ask whoever invited you to send the invitation again."
      nextAction={<ButtonLink to="/sign-in">To the sign-in page</ButtonLink>}
    >
      {(good) => (
        <CreateAccountForm
          {...good}
          title={`Join ${organizationLabel(good.link)}`}
          description="You were invited to this organisation's console."
        />
      )}
    </EmailTokenGate>
  );
}

function organizationLabel({ organization_name: name }: EmailTokenView): string {
  return name ?? "the operators of Waymark";
}

interface CreateAccountFormProps {
  token: string;
  link: EmailTokenView;
  title: string;
  description: string;
}

function CreateAccountForm({ token, link, title, description }: CreateAccountFormProps) {
  const [isDone, setIsDone] = useState(false);
  const form = useForm({ mode: "uncontrolled", initialValues: { name: "", password: "" } });
  useUnsavedInput(() => (form.isDirty() ? "changed" : "clean"));
  const submit = useSubmit(form, async (values) => {
    await api.anonymous.post("auth/links/accept", { token, ...values });
    setIsDone(true);
  });
  if (isDone) {
    return (
      <FormResult title="Your account is ready" action={<ButtonLink to="/sign-in">Sign in</ButtonLink>}>
        Sign in with <strong>{link.email}</strong> and the password that you have just chosen.
      </FormResult>
    );
  }
  return (
    <>
      <PageHeader title={title} description={description} />
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack>
          <FormAlert message={submit.failure} />
          <ReadOnlyEmailField value={link.email} autoComplete="username" />
          <TextInput
            key={form.key("name")}
            {...form.getInputProps("name")}
            label="Your name"
            autoComplete="name"
            maxLength={120}
            required
            withAsterisk={false}
          />
          <NewPasswordInput key={form.key("password")} {...form.getInputProps("password")} />
          <Button type="submit" loading={submit.isBusy} fullWidth>
            Make my account
          </Button>
          <TextLink to="/sign-in" fz="sm" ta="center">
            I have an account
          </TextLink>
        </Stack>
      </form>
    </>
  );
}
