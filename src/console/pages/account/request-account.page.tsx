/**
 * Requests an account. Everyone sees the same confirmation, so that the page does not reveal which e-mail addresses
 * are known.
 */
import { Button, Radio, Stack, Text, Textarea, TextInput, type RadioGroupProps } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconMail } from "@tabler/icons-react";
import { useState } from "react";
import { api } from "../../app/api/client.ts";
import { useUnsavedInput } from "../../app/interaction/unsaved-changes.tsx";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { EmailField } from "../../components/forms/email-field.tsx";
import { FormAlert } from "../../components/forms/form-alert.tsx";
import { TextLink } from "../../components/layout/links.tsx";
import { FormResult } from "../../components/forms/form-result.tsx";
import { PageHeader } from "../../components/layout/page-header.tsx";

const organizationTypeOptions = [
  { value: "agent", label: "Agent", description: "We own the jobs. Contractors may carry them out." },
  { value: "contractor", label: "Contractor", description: "We carry out jobs that are assigned to us." },
];

export function RequestAccountPage() {
  const [sentTo, setSentTo] = useState<string | null>(null);
  return sentTo === null ? <AccountRequestForm onSent={setSentTo} /> : <RequestSent email={sentTo} />;
}

function AccountRequestForm({ onSent }: { onSent: (email: string) => void }) {
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { email: "", organization_name: "", organization_type: "agent", message: "" },
  });
  useUnsavedInput(() => (form.isDirty() ? "changed" : "clean"));
  const submit = useSubmit(form, async ({ message, ...request }) => {
    await api.anonymous.post("auth/account-requests", { ...request, message: message.trim() || null });
    onSent(request.email);
  });
  return (
    <>
      <PageHeader title="Request an account" description="We review each request and reply by e-mail." />
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack>
          <FormAlert failure={submit.failure} />
          <EmailField
            key={form.key("email")}
            {...form.getInputProps("email")}
            label="Work e-mail"
            description="You will sign in with it."
            autoComplete="email"
          />
          <TextInput
            key={form.key("organization_name")}
            {...form.getInputProps("organization_name")}
            label="Organisation"
            autoComplete="organization"
            maxLength={120}
            required
            withAsterisk={false}
          />
          <OrganizationTypeInput
            key={form.key("organization_type")}
            {...form.getInputProps("organization_type")}
          />
          <Textarea
            key={form.key("message")}
            {...form.getInputProps("message")}
            label="Anything we should know (optional)"
            description="For example whose jobs you need to see, or your contact with us."
            rows={3}
            maxLength={2_000}
          />
          <Button type="submit" loading={submit.isBusy} fullWidth>
            Send request
          </Button>
          <Text fz="sm" ta="center" c="dimmed">
            Already have an account? <TextLink to="/sign-in">Sign in</TextLink>
          </Text>
        </Stack>
      </form>
    </>
  );
}

function OrganizationTypeInput(props: Omit<RadioGroupProps, "children">) {
  return (
    <Radio.Group label="What your organisation does" {...props}>
      <Stack gap="xs">
        {organizationTypeOptions.map((kind) => (
          <Radio key={kind.value} {...kind} />
        ))}
      </Stack>
    </Radio.Group>
  );
}

function RequestSent({ email }: { email: string }) {
  return (
    <FormResult
      icon={IconMail}
      title="Request sent"
      action={<TextLink to="/sign-in">Go to sign-in</TextLink>}
    >
      We will e-mail <strong>{email}</strong> once we have reviewed it. If you hear nothing within a few days,
      check your spam folder, then send the request again.
    </FormResult>
  );
}
