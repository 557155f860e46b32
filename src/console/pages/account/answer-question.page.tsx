/** Answers an operator's question about an account request. */
import { Blockquote, Button, Stack, Textarea } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { api } from "../../app/api/client.ts";
import { useUnsavedInput } from "../../app/interaction/unsaved-changes.tsx";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { FormAlert } from "../../components/forms/form-alert.tsx";
import { TextLink } from "../../components/layout/links.tsx";
import { FormResult } from "../../components/forms/form-result.tsx";
import { PageHeader } from "../../components/layout/page-header.tsx";
import { EmailTokenGate } from "./email-token-gate.tsx";
import type { EmailTokenView } from "./use-email-token.ts";

export function AnswerQuestionPage() {
  return (
    <EmailTokenGate
      kind="account_request_answer"
      title="A question about your request"
      invalidHint="If you have already answered, we received it and will reply by e-mail."
      nextAction={<TextLink to="/request-account">Request an account</TextLink>}
    >
      {(valid) => <AnswerForm {...valid} />}
    </EmailTokenGate>
  );
}

function AnswerForm({ token, link }: { token: string; link: EmailTokenView }) {
  const [isDone, setIsDone] = useState(false);
  const form = useForm({ mode: "uncontrolled", initialValues: { message: "" } });
  useUnsavedInput(() => (form.isDirty() ? "changed" : "clean"));
  const submit = useSubmit(form, async ({ message }) => {
    await api.anonymous.post("auth/account-requests/answer", { token, message });
    setIsDone(true);
  });
  if (isDone) {
    return (
      <FormResult title="Thank you">
        We received your answer. We will e-mail <strong>{link.email}</strong> once we have decided.
      </FormResult>
    );
  }
  return (
    <>
      <PageHeader
        title="A question about your request"
        description={`You requested an account for ${link.organization_name ?? "your organisation"}.`}
      />
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack>
          <FormAlert failure={submit.failure} />
          {link.question !== null && (
            <Blockquote p="md" my={0} style={{ whiteSpace: "pre-line", overflowWrap: "anywhere" }}>
              {link.question}
            </Blockquote>
          )}
          <Textarea
            key={form.key("message")}
            {...form.getInputProps("message")}
            label="Your answer"
            rows={5}
            maxLength={2_000}
            required
            withAsterisk={false}
          />
          <Button type="submit" loading={submit.isBusy} fullWidth>
            Send answer
          </Button>
        </Stack>
      </form>
    </>
  );
}
