/** The decisions on an account request. Each dialog previews the e-mail that is sent. */
import { useMutation } from "@apollo/client/react";
import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconCheck, IconMail } from "@tabler/icons-react";
import { notify } from "../../../app/interaction/notify.tsx";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { ConfirmDialog } from "../../../components/dialogs/confirm-dialog.tsx";
import {
  AskAccountRequestDocument,
  RejectAccountRequestDocument,
  ResendRegistrationDocument,
  type AccountRequestViewFragment,
} from "../../../generated/account-request.ts";
import { AccountRequestCountsDocument } from "../../../generated/account-requests.ts";
import { ApproveDialog } from "./approve.dialog.tsx";
import { MailPreview } from "./mail-preview.tsx";
import { questionDraft, registrationDraft, rejectionDraft } from "./mail-drafts.ts";
import { PromptDialog } from "../prompt.dialog.tsx";

export function AccountRequestActions({ request }: { request: AccountRequestViewFragment }) {
  if (request.status === "APPROVED") return <ResendRegistrationAction request={request} />;
  if (request.status !== "PENDING" && request.status !== "AWAITING_REPLY") return null;
  return (
    <>
      <RejectAction request={request} />
      <AskQuestionAction request={request} />
      <ApproveAction request={request} />
    </>
  );
}

interface ActionProps {
  request: AccountRequestViewFragment;
}

/** Updates the counts in the tabs of the list. */
const refetchCounts = { refetchQueries: [AccountRequestCountsDocument] };

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
  const [reject] = useMutation(RejectAccountRequestDocument, refetchCounts);
  return (
    <>
      <Button variant="default" onClick={dialog.open}>
        Reject…
      </Button>
      <PromptDialog
        opened={isOpen}
        onClose={dialog.close}
        title={`Reject the request of ${request.organizationName}`}
        fieldName="reason"
        label="Reason"
        description="Sent to the person exactly as you write it."
        action="Reject and send"
        isDangerous
        preview={(reason) => (
          <MailPreview draft={rejectionDraft(request, reason)} placeholder="Your reason" />
        )}
        onSubmit={async (reason) => {
          payloadOrThrow(
            (await reject({ variables: { id: request.id, reason } })).data?.rejectAccountRequest,
          );
          notify(`Request rejected. ${request.email} gets an e-mail with your reason.`);
        }}
      />
    </>
  );
}

function AskQuestionAction({ request }: ActionProps) {
  const [isOpen, dialog] = useDisclosure(false);
  const [ask] = useMutation(AskAccountRequestDocument, refetchCounts);
  return (
    <>
      <Button variant="default" onClick={dialog.open}>
        Ask a question…{" "}
      </Button>
      <PromptDialog
        opened={isOpen}
        onClose={dialog.close}
        title={`Ask ${request.email}`}
        fieldName="question"
        label="Question"
        description={
          request.status === "AWAITING_REPLY"
            ? "The link of your earlier question stops working. The new link is valid for 14 days."
            : "They answer through a link that is valid for 14 days. The answer appears here."
        }
        action="Send question"
        preview={(question) => (
          <MailPreview draft={questionDraft(request, question)} placeholder="Your question" />
        )}
        onSubmit={async (question) => {
          payloadOrThrow(
            (await ask({ variables: { id: request.id, question } })).data?.askAccountRequestQuestion,
          );
          notify(`Question sent to ${request.email}.`);
        }}
      />
    </>
  );
}

function ResendRegistrationAction({ request }: ActionProps) {
  const [isOpen, dialog] = useDisclosure(false);
  const [resend] = useMutation(ResendRegistrationDocument);
  const { email, organization, organizationName } = request;
  return (
    <>
      <Button leftSection={<IconMail size={16} aria-hidden="true" />} onClick={dialog.open}>
        Resend registration link…{" "}
      </Button>
      <ConfirmDialog
        opened={isOpen}
        onClose={dialog.close}
        title="Resend registration link?"
        action="Resend link"
        onConfirm={async () => {
          payloadOrThrow((await resend({ variables: { id: request.id } })).data?.resendRegistration);
          notify(`New registration link sent to ${email}.`);
        }}
      >
        <p style={{ marginTop: 0 }}>The previous link stops working. This e-mail is sent:</p>
        <MailPreview
          draft={registrationDraft({ email, organizationName: organization?.name ?? organizationName })}
        />
      </ConfirmDialog>
    </>
  );
}
