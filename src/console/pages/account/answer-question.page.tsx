/** Answering what an operator asked about a request for an account. */
import { Blockquote, Button, Stack, Textarea } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { useUnsaved } from "../../app/unsaved.tsx";
import { useSubmit } from "../../app/use-submit.ts";
import { FormAlert } from "../../components/form-alert.tsx";
import { TextLink } from "../../components/links.tsx";
import { Outcome } from "../../components/outcome.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { LinkGate } from "./link-gate.tsx";
import type { LinkView } from "./link.ts";

export function AnswerQuestionPage() {
  return (
    <LinkGate
      kind="account_request_answer"
      title="A question about your request"
      whenGone="If you have answered, we have your answer and write to you soon."
      wayOn={<TextLink to="/request-account">Request an account</TextLink>}
    >
      {(good) => <AnswerForm {...good} />}
    </LinkGate>
  );
}

function AnswerForm({ token, link }: { token: string; link: LinkView }) {
  const [isDone, setIsDone] = useState(false);
  const form = useForm({ mode: "uncontrolled", initialValues: { message: "" } });
  useUnsaved(() => (form.isDirty() ? "changed" : "clean"));
  const submit = useSubmit(form, async ({ message }) => {
    await api.anonymous.post("auth/account-requests/answer", { token, message });
    setIsDone(true);
  });
  if (isDone) {
    return (
      <Outcome title="Thank you">
        Your answer is with us. We write to <strong>{link.email}</strong> as soon as your request is decided.
      </Outcome>
    );
  }
  return (
    <>
      <PageHeader
        title="A question about your request"
        description={`You have requested an account for ${link.organization_name ?? "your organisation"}.`}
      />
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack>
          <FormAlert message={submit.failure} />
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
