/** Approves a request: the name of the new organisation, and a preview of the e-mail. */
import { useMutation } from "@apollo/client/react";
import { Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notify } from "../../../app/interaction/notify.tsx";
import { useSubmit } from "../../../app/interaction/use-submit.ts";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { Dialog } from "../../../components/dialogs/dialog.tsx";
import { DialogActions } from "../../../components/dialogs/dialog-actions.tsx";
import { FormAlert } from "../../../components/forms/form-alert.tsx";
import {
  ApproveAccountRequestDocument,
  type AccountRequestViewFragment,
} from "../../../generated/account-request.ts";
import { AccountRequestCountsDocument } from "../../../generated/account-requests.ts";
import { organizationTypeLabels } from "./account-request.labels.ts";
import { MailPreview } from "./mail-preview.tsx";
import { registrationDraft } from "./mail-drafts.ts";

interface ApproveFormProps {
  onClose: () => void;
  request: AccountRequestViewFragment;
}

export function ApproveDialog({ opened, ...form }: ApproveFormProps & { opened: boolean }) {
  const { organizationName } = form.request;
  return (
    <Dialog opened={opened} onClose={form.onClose} title={`Approve ${organizationName}`} size="lg">
      <ApproveForm {...form} />
    </Dialog>
  );
}

function ApproveForm({ onClose, request }: ApproveFormProps) {
  const { id, email } = request;
  const [approve] = useMutation(ApproveAccountRequestDocument, {
    refetchQueries: [AccountRequestCountsDocument],
  });
  const form = useForm({ initialValues: { organizationName: request.organizationName } });
  const organizationName = form.values.organizationName.trim();
  const submit = useSubmit(form, async () => {
    payloadOrThrow((await approve({ variables: { id, organizationName } })).data?.approveAccountRequest);
    onClose();
    notify(`${organizationName} approved. Registration link sent to ${email}.`);
  });
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack>
        <Text>
          This creates the organisation as{" "}
          {organizationTypeLabels[request.organizationType] === "Agent" ? "an agent" : "a contractor"} with{" "}
          {email} as its owner.
        </Text>
        <FormAlert failure={submit.failure} />
        <TextInput
          {...form.getInputProps("organizationName")}
          label="Organisation name"
          description="You can change the requested name. It must be unique."
          maxLength={120}
          data-autofocus
          required
          withAsterisk={false}
        />
        <MailPreview draft={registrationDraft({ email, organizationName })} />
        <DialogActions action="Approve and send" isBusy={submit.isBusy} />
      </Stack>
    </form>
  );
}
