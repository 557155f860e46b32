/** One e-mail: its text, its status, and resending it. */
import { useMutation } from "@apollo/client/react";
import { Anchor, Button, Code, Group, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { describeError, type Failure } from "../../../app/api/describe-error.ts";
import { notify } from "../../../app/interaction/notify.tsx";
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
  /** Null while the dialog is closed. */
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

function MailSummary({ mail }: { mail: MailRowFragment }) {
  const { to, status, attempts, sentAt, nextAttemptAt, lastError, createdAt } = mail;
  return (
    <Stack gap={6}>
      <Group gap="xs">
        <StatusBadge {...mailStatusLabels[status]} />
        <Text fz="sm">to {to}</Text>
      </Group>
      <Text fz="sm" c="dimmed">
        Created <Timestamp value={createdAt} display="exact" />
        {sentAt !== null && (
          <>
            , sent <Timestamp value={sentAt} display="exact" />
          </>
        )}
        {nextAttemptAt !== null && (
          <>
            , next attempt <Timestamp value={nextAttemptAt} />
          </>
        )}
        {attempts > 1 && `, ${attempts} attempts`}
      </Text>
      {lastError !== null && (
        <Text fz="sm">
          Response of the mail server: <Code>{lastError}</Code>
        </Text>
      )}
    </Stack>
  );
}

function MailText({ text }: { text: string }) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboard users must be able to scroll it
    <div className={classes.text} role="region" aria-label="Text of the e-mail" tabIndex={0}>
      {splitLinks(text, document.baseURI).map((part, index) =>
        part.href === null ? (
          part.text
        ) : (
          // The order of parts never changes.
          // oxlint-disable-next-line react/no-array-index-key
          <Anchor key={index} href={part.href} target="_blank" rel="noopener noreferrer" inherit>
            {part.text}
          </Anchor>
        ),
      )}
    </div>
  );
}

function ResendMailAction({ mail: { id, status, to } }: { mail: MailRowFragment }) {
  const [resend, { loading }] = useMutation(ResendMailDocument);
  const [failure, setFailure] = useState<Failure | null>(null);
  if (status !== "FAILED" && status !== "STORED") return null;
  const send = async (): Promise<void> => {
    setFailure(null);
    try {
      payloadOrThrow((await resend({ variables: { id } })).data?.resendMail);
      notify(`E-mail to ${to} is being resent.`);
    } catch (error) {
      setFailure(describeError(error));
    }
  };
  return (
    <>
      <FormAlert failure={failure} />
      <Group justify="space-between">
        <Text fz="sm" c="dimmed">
          {status === "STORED"
            ? "It can be sent once SMTP_URL is set."
            : "It could not be delivered in time."}
        </Text>
        <Button variant="default" loading={loading} onClick={() => void send()}>
          Resend{" "}
        </Button>
      </Group>
    </>
  );
}
