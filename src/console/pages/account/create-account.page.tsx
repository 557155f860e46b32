/** Registering after an approved request, and joining after an invitation. */
import { Button, Divider, Stack, Text, TextInput } from "@mantine/core";
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
import { SingleSignOnButton } from "./single-sign-on.tsx";
import { EmailTokenGate } from "./email-token-gate.tsx";
import type { EmailTokenView } from "./use-email-token.ts";

export function RegisterPage() {
  return (
    <EmailTokenGate
      kind="registration"
      title="Register"
      invalidHint="If you have already registered, sign in. Otherwise ask the person who approved your account to resend the link."
      nextAction={<ButtonLink to="/sign-in">Go to sign-in</ButtonLink>}
    >
      {(valid) => (
        <CreateAccount
          {...valid}
          title="Register"
          description={`You will be the first owner of ${organizationLabel(valid.link)}.`}
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
      invalidHint="If you have already joined, sign in. Otherwise ask the person who invited you to resend the invitation."
      nextAction={<ButtonLink to="/sign-in">Go to sign-in</ButtonLink>}
    >
      {(valid) => (
        <CreateAccount
          {...valid}
          title={`Join ${organizationLabel(valid.link)}`}
          description="You have been invited to this organisation."
        />
      )}
    </EmailTokenGate>
  );
}

function organizationLabel({ organization_name: name }: EmailTokenView): string {
  return name ?? "the operators of Waymark";
}

interface CreateAccountProps {
  token: string;
  link: EmailTokenView;
  title: string;
  description: string;
}

function CreateAccount({ title, description, ...valid }: CreateAccountProps) {
  const { token, link } = valid;
  const [isDone, setIsDone] = useState(false);
  if (isDone) {
    return (
      <FormResult title="Your account is ready" action={<ButtonLink to="/sign-in">Sign in</ButtonLink>}>
        Sign in with <strong>{link.email}</strong> and your new password.
      </FormResult>
    );
  }
  return (
    <>
      <PageHeader title={title} description={description} />
      {link.single_sign_on !== null && (
        <Stack>
          <Text>
            Sign in at your identity provider as <strong>{link.email}</strong>. You need no password here.
          </Text>
          <SingleSignOnButton
            label="Continue with single sign-on"
            start={{ provider: "invitation", token }}
            variant="filled"
          />
        </Stack>
      )}
      {link.single_sign_on === "offered" && <Divider label="or choose a password" my="md" />}
      {link.single_sign_on !== "required" && <AccountForm {...valid} onDone={() => setIsDone(true)} />}
      <TextLink to="/sign-in" fz="sm" ta="center" display="block" mt="md">
        I already have an account
      </TextLink>
    </>
  );
}

interface AccountFormProps {
  token: string;
  link: EmailTokenView;
  onDone: () => void;
}

function AccountForm({ token, link, onDone }: AccountFormProps) {
  const form = useForm({ mode: "uncontrolled", initialValues: { name: "", password: "" } });
  useUnsavedInput(() => (form.isDirty() ? "changed" : "clean"));
  const submit = useSubmit(form, async (values) => {
    await api.anonymous.post("auth/links/accept", { token, ...values });
    onDone();
  });
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack>
        <FormAlert failure={submit.failure} />
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
        <Button
          type="submit"
          variant={link.single_sign_on === null ? "filled" : "default"}
          loading={submit.isBusy}
          fullWidth
        >
          Create account
        </Button>
      </Stack>
    </form>
  );
}
