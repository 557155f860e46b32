/** Asking for a link to a new password. Whether there is an account is told by mail alone. */
import { Button, Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconMail } from "@tabler/icons-react";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { useSubmit } from "../../app/use-submit.ts";
import { EmailField } from "../../components/email-field.tsx";
import { FormAlert } from "../../components/form-alert.tsx";
import { TextLink } from "../../components/links.tsx";
import { Outcome } from "../../components/outcome.tsx";
import { PageHeader } from "../../components/page-header.tsx";

export function ForgottenPasswordPage() {
  const [sentTo, setSentTo] = useState<string | null>(null);
  if (sentTo !== null) {
    return (
      <Outcome
        icon={IconMail}
        title="Look into your mail"
        action={<TextLink to="/sign-in">To the sign-in page</TextLink>}
      >
        If <strong>{sentTo}</strong> has an account, a link to choose a new password is on its way. It is good
        for an hour.
      </Outcome>
    );
  }
  return <AskForm onSent={setSentTo} />;
}

function AskForm({ onSent }: { onSent: (email: string) => void }) {
  const form = useForm({ mode: "uncontrolled", initialValues: { email: "" } });
  const submit = useSubmit(form, async ({ email }) => {
    await api.anonymous.post("auth/password/forgotten", { email });
    onSent(email);
  });
  return (
    <>
      <PageHeader title="Forgotten password" description="We send you a link to choose a new one." />
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack>
          <FormAlert message={submit.failure} />
          <EmailField key={form.key("email")} {...form.getInputProps("email")} autoComplete="username" />
          <Button type="submit" loading={submit.isBusy} fullWidth>
            Send the link
          </Button>
          <Text fz="sm" ta="center">
            <TextLink to="/sign-in">Back to the sign-in page</TextLink>
          </Text>
        </Stack>
      </form>
    </>
  );
}
