/** Registering after an approval, and joining after an invitation: a name and a password make the account. */
import { Button, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { useUnsaved } from "../../app/unsaved.tsx";
import { useSubmit } from "../../app/use-submit.ts";
import { KnownEmail } from "../../components/email-field.tsx";
import { FormAlert } from "../../components/form-alert.tsx";
import { ButtonLink, TextLink } from "../../components/links.tsx";
import { NewPasswordInput } from "../../components/new-password-input.tsx";
import { Outcome } from "../../components/outcome.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { LinkGate } from "./link-gate.tsx";
import type { LinkView } from "./link.ts";

export function RegisterPage() {
  return (
    <LinkGate
      kind="registration"
      title="Register"
      whenGone="If you have registered already, sign in. If not, ask whoever approved your account to send the link again."
      wayOn={<ButtonLink to="/sign-in">To the sign-in page</ButtonLink>}
    >
      {(good) => (
        <AcceptForm {...good} title="Register" joins={`You are the first owner of ${nameOf(good.link)}.`} />
      )}
    </LinkGate>
  );
}

export function InvitationPage() {
  return (
    <LinkGate
      kind="invitation"
      title="Join"
      whenGone="If you have joined already, sign in. If not, ask whoever invited you to send the invitation again."
      wayOn={<ButtonLink to="/sign-in">To the sign-in page</ButtonLink>}
    >
      {(good) => (
        <AcceptForm
          {...good}
          title={`Join ${nameOf(good.link)}`}
          joins="You were invited to this organisation's console."
        />
      )}
    </LinkGate>
  );
}

function nameOf({ organization_name: name }: LinkView): string {
  return name ?? "the operators of Waymark";
}

interface AcceptFormProps {
  token: string;
  link: LinkView;
  title: string;
  joins: string;
}

function AcceptForm({ token, link, title, joins }: AcceptFormProps) {
  const [isDone, setIsDone] = useState(false);
  const form = useForm({ mode: "uncontrolled", initialValues: { name: "", password: "" } });
  useUnsaved(() => (form.isDirty() ? "changed" : "clean"));
  const submit = useSubmit(form, async (values) => {
    await api.anonymous.post("auth/links/accept", { token, ...values });
    setIsDone(true);
  });
  if (isDone) {
    return (
      <Outcome title="Your account is ready" action={<ButtonLink to="/sign-in">Sign in</ButtonLink>}>
        Sign in with <strong>{link.email}</strong> and the password that you have just chosen.
      </Outcome>
    );
  }
  return (
    <>
      <PageHeader title={title} description={joins} />
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack>
          <FormAlert message={submit.failure} />
          <KnownEmail value={link.email} autoComplete="username" />
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
