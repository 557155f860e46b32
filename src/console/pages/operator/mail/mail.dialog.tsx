/** One mail: its text, what became of it, and sending it again. */
import { useMutation } from "@apollo/client/react";
import { Anchor, Button, Code, Group, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { errorMessage } from "../../../app/api/describe-error.ts";
import { notify } from "../../../app/interaction/notify.ts";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { Dialog } from "../../../components/dialogs/dialog.tsx";
import { FormAlert } from "../../../components/forms/form-alert.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import { ResendMailDocument, type MailRowFragment } from "../../../generated/mail-outbox.ts";
import { splitLinks } from "./mail.links.ts";
import { mailStatusLabels } from "./mail.labels.ts";
import classes from "./mail.dialog.module.css";

interface MailDialogProps {
  opened: boolean;
  onClose: () => void;
  /** Null: none was opened. */
  mail: MailRowFragment | null;
}

export function MailDialog({ opened, onClose, mail }: MailDialogProps) {
  return (
    <Dialog opened={opened} onClose={onClose} title={mail?.subject} size="lg">
      {mail && (
        <Stack>
          <MailSummary mail={mail} />
          <MailText text={mail.text} />
          <ResendMailAction mail={mail} />
        </Stack>
      )}
    </Dialog>
  );
}

/** What became of it. */
function MailSummary({ mail }: { mail: MailRowFragment }) {
  const { to, status, attempts, sentAt, nextAttemptAt, lastError, createdAt } = mail;
  return (
    <Stack gap={6}>
      <Group gap="xs">
        <StatusBadge {...mailStatusLabels[status]} />
        <Text fz="sm">to {to}</Text>
      </Group>
      <Text fz="sm" c="dimmed">
        Written <Timestamp value={createdAt} display="exact" />
        {sentAt !== null && (
          <>
            , sent <Timestamp value={sentAt} display="exact" />
          </>
        )}
        {nextAttemptAt !== null && (
          <>
            , tried next <Timestamp value={nextAttemptAt} />
          </>
        )}
        {attempts > 1 && `, tried ${attempts} times`}
      </Text>
      {lastError !== null && (
        <Text fz="sm">
          The mail server said: <Code>{lastError}</Code>
        </Text>
      )}
    </Stack>
  );
}

function MailText({ text }: { text: string }) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls is reached by the keyboard
    <div className={classes.text} role="region" aria-label="Text of the mail" tabIndex={0}>
      {splitLinks(text, document.baseURI).map((part, at) =>
        part.href === null ? (
          part.text
        ) : (
          // Parts of a text never change their places.
          // oxlint-disable-next-line react/no-array-index-key
          <Anchor key={at} href={part.href} target="_blank" rel="noopener noreferrer" inherit>
            {part.text}
          </Anchor>
        ),
      )}
    </div>
  );
}

function ResendMailAction({ mail: { id, status, to } }: { mail: MailRowFragment }) {
  const [resend, { loading }] = useMutation(ResendMailDocument);
  const [failure, setFailure] = useState<string | null>(null);
  if (status !== "FAILED" && status !== "KEPT") return null;
  const send = async (): Promise<void> => {
    setFailure(null);
    try {
      payloadOrThrow((await resend({ variables: { id } })).data?.resendMail);
      notify(`The mail to ${to} is on its way again.`);
    } catch (error) {
      setFailure(errorMessage(error));
    }
  };
  return (
    <>
      <FormAlert message={failure} />
      <Group justify="space-between">
        <Text fz="sm" c="dimmed">
          {status === "KEPT" ? "It can go out once SMTP_URL is set." : "It was tried until it was too late."}
        </Text>
        <Button variant="default" loading={loading} onClick={() => void send()}>
          Send again
        </Button>
      </Group>
    </>
  );
}
