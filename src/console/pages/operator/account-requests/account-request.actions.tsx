/** What can be decided about a request as it stands, each with what the person will be sent. */
import { useMutation } from "@apollo/client/react";
import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconCheck, IconMail } from "@tabler/icons-react";
import { notify } from "../../../app/interaction/notify.ts";
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
  if (request.status !== "PENDING" && request.status !== "ASKED") return null;
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

/** The list's tabs count. */
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
        description="The person reads it as you write it."
        action="Reject and send"
        isDangerous
        preview={(reason) => <MailPreview draft={rejectionDraft(request, reason)} hole="Your reason" />}
        onSubmit={async (reason) => {
          payloadOrThrow(
            (await reject({ variables: { id: request.id, reason } })).data?.rejectAccountRequest,
          );
          notify(`${request.email} is told that the request was rejected, and why.`);
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
        Ask for more…
      </Button>
      <PromptDialog
        opened={isOpen}
        onClose={dialog.close}
        title={`Ask ${request.email}`}
        fieldName="question"
        label="Question"
        description={
          request.status === "ASKED"
            ? "The link of your earlier question ends. They answer by a link that is good for 14 days."
            : "They answer by a link that is good for 14 days; the answer comes here."
        }
        action="Send question"
        preview={(question) => <MailPreview draft={questionDraft(request, question)} hole="Your question" />}
        onSubmit={async (question) => {
          payloadOrThrow(
            (await ask({ variables: { id: request.id, question } })).data?.askAccountRequestQuestion,
          );
          notify(`Your question is on its way to ${request.email}.`);
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
        Resend registration…
      </Button>
      <ConfirmDialog
        opened={isOpen}
        onClose={dialog.close}
        title="Send the registration’s link again"
        action="Send again"
        onConfirm={async () => {
          payloadOrThrow((await resend({ variables: { id: request.id } })).data?.resendRegistration);
          notify(`A new link is on its way to ${email}.`);
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
