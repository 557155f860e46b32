/** What can be decided about a request as it stands, each with what the person will be sent. */
import { useMutation } from "@apollo/client/react";
import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconCheck, IconMail } from "@tabler/icons-react";
import { tell } from "../../app/tell.ts";
import { accepted } from "../../app/user-errors.ts";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import {
  AskAccountRequestDocument,
  RejectAccountRequestDocument,
  ResendRegistrationDocument,
  type AccountRequestViewFragment,
} from "../../generated/account-request.ts";
import { AccountRequestCountsDocument } from "../../generated/account-requests.ts";
import { ApproveDialog } from "./approve.dialog.tsx";
import { MailPreview } from "./mail-preview.tsx";
import { questionDraft, registrationDraft, rejectionDraft } from "./review.mails.ts";
import { WordsDialog } from "./words.dialog.tsx";

export function AccountRequestActions({ request }: { request: AccountRequestViewFragment }) {
  if (request.status === "APPROVED") return <ResendAction request={request} />;
  if (request.status !== "PENDING" && request.status !== "ASKED") return null;
  return (
    <>
      <RejectAction request={request} />
      <AskAction request={request} />
      <ApproveAction request={request} />
    </>
  );
}

interface ActionProps {
  request: AccountRequestViewFragment;
}

/** The list's tabs count. */
const after = { refetchQueries: [AccountRequestCountsDocument] };

function ApproveAction({ request }: ActionProps) {
  const [isOpen, dialog] = useDisclosure(false);
  return (
    <>
      <Button leftSection={<IconCheck size={16} aria-hidden="true" />} onClick={dialog.open}>
        Approve…
      </Button>
      <ApproveDialog opened={isOpen} onClose={dialog.close} request={request} />
    </>
  );
}

function RejectAction({ request }: ActionProps) {
  const [isOpen, dialog] = useDisclosure(false);
  const [reject] = useMutation(RejectAccountRequestDocument, after);
  return (
    <>
      <Button variant="default" onClick={dialog.open}>
        Reject…
      </Button>
      <WordsDialog
        opened={isOpen}
        onClose={dialog.close}
        title={`Reject the request of ${request.organizationName}`}
        field="reason"
        label="Reason"
        description="The person reads it as you write it."
        action="Reject and send"
        isDangerous
        preview={(reason) => <MailPreview draft={rejectionDraft(request, reason)} hole="Your reason" />}
        onWords={async (reason) => {
          accepted((await reject({ variables: { id: request.id, reason } })).data?.rejectAccountRequest);
          tell(`${request.email} is told that the request was rejected, and why.`);
        }}
      />
    </>
  );
}

function AskAction({ request }: ActionProps) {
  const [isOpen, dialog] = useDisclosure(false);
  const [ask] = useMutation(AskAccountRequestDocument, after);
  return (
    <>
      <Button variant="default" onClick={dialog.open}>
        Ask for more…
      </Button>
      <WordsDialog
        opened={isOpen}
        onClose={dialog.close}
        title={`Ask ${request.email}`}
        field="question"
        label="Question"
        description={
          request.status === "ASKED"
            ? "The link of your earlier question ends. They answer by a link that is good for 14 days."
            : "They answer by a link that is good for 14 days; the answer comes here."
        }
        action="Send question"
        preview={(question) => <MailPreview draft={questionDraft(request, question)} hole="Your question" />}
        onWords={async (question) => {
          accepted((await ask({ variables: { id: request.id, question } })).data?.askAccountRequest);
          tell(`Your question is on its way to ${request.email}.`);
        }}
      />
    </>
  );
}

function ResendAction({ request }: ActionProps) {
  const [isOpen, dialog] = useDisclosure(false);
  const [resend] = useMutation(ResendRegistrationDocument);
  const { email, organization, organizationName } = request;
  return (
    <>
      <Button leftSection={<IconMail size={16} aria-hidden="true" />} onClick={dialog.open}>
        Resend registration…
      </Button>
      <ConfirmDialog
        opened={isOpen}
        onClose={dialog.close}
        title="Send the registration’s link again"
        action="Send again"
        onConfirm={async () => {
          accepted((await resend({ variables: { id: request.id } })).data?.resendRegistration);
          tell(`A new link is on its way to ${email}.`);
        }}
      >
        <p style={{ marginTop: 0 }}>The earlier link ends at once. This is sent:</p>
        <MailPreview
          draft={registrationDraft({ email, organizationName: organization?.name ?? organizationName })}
        />
      </ConfirmDialog>
    </>
  );
}
