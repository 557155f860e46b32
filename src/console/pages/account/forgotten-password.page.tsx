/** Requests a link to reset the password. The page never reveals whether an account exists. */
import { Button, Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconMail } from "@tabler/icons-react";
import { useState } from "react";
import { api } from "../../app/api/client.ts";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { EmailField } from "../../components/forms/email-field.tsx";
import { FormAlert } from "../../components/forms/form-alert.tsx";
import { TextLink } from "../../components/layout/links.tsx";
import { FormResult } from "../../components/forms/form-result.tsx";
import { PageHeader } from "../../components/layout/page-header.tsx";

export function ForgottenPasswordPage() {
  const [sentTo, setSentTo] = useState<string | null>(null);
  if (sentTo !== null) {
    return (
      <FormResult
        icon={IconMail}
        title="Check your e-mail"
        action={<TextLink to="/sign-in">Go to sign-in</TextLink>}
      >
        If <strong>{sentTo}</strong> has an account, we have sent a link to choose a new password. It is valid
        for one hour.
      </FormResult>
    );
  }
  return <ForgottenPasswordForm onSent={setSentTo} />;
}

function ForgottenPasswordForm({ onSent }: { onSent: (email: string) => void }) {
  const form = useForm({ mode: "uncontrolled", initialValues: { email: "" } });
  const submit = useSubmit(form, async ({ email }) => {
    await api.anonymous.post("auth/password/forgotten", { email });
    onSent(email);
  });
  return (
    <>
      <PageHeader
        title="Reset your password"
        description="We will e-mail you a link to choose a new password."
      />
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack>
          <FormAlert failure={submit.failure} />
          <EmailField key={form.key("email")} {...form.getInputProps("email")} autoComplete="username" />
          <Button type="submit" loading={submit.isBusy} fullWidth>
            Send link
          </Button>
          <Text fz="sm" ta="center">
            <TextLink to="/sign-in">Back to sign-in</TextLink>
          </Text>
        </Stack>
      </form>
    </>
  );
}
