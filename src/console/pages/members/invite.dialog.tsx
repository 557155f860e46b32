import { useMutation } from "@apollo/client/react";
import { Radio, Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notify } from "../../app/interaction/notify.tsx";
import { organizationRoles, roles } from "../../app/session/roles.ts";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { payloadOrThrow } from "../../app/api/user-errors.ts";
import { Dialog } from "../../components/dialogs/dialog.tsx";
import { DialogActions } from "../../components/dialogs/dialog-actions.tsx";
import { EmailField } from "../../components/forms/email-field.tsx";
import { FormAlert } from "../../components/forms/form-alert.tsx";
import { InviteMemberDocument, type MemberRole } from "../../generated/members.ts";

interface InviteDialogProps {
  opened: boolean;
  onClose: () => void;
  /** Operators invite operators. */
  isOperator: boolean;
  onInvited: () => void;
}

export function InviteDialog({ opened, onClose, ...form }: InviteDialogProps) {
  return (
    <Dialog
      opened={opened}
      onClose={onClose}
      title={form.isOperator ? "Invite an operator" : "Invite a member"}
    >
      <InviteForm onClose={onClose} {...form} />
    </Dialog>
  );
}

function InviteForm({ onClose, isOperator, onInvited }: Omit<InviteDialogProps, "opened">) {
  const [inviteMember] = useMutation(InviteMemberDocument);
  const initialValues: { email: string; role: MemberRole } = {
    email: "",
    role: isOperator ? "OPERATOR" : "DISPATCHER",
  };
  const form = useForm({ mode: "uncontrolled", initialValues });
  const submit = useSubmit(form, async (input) => {
    const { data } = await inviteMember({ variables: { input } });
    payloadOrThrow(data?.inviteMember);
    onClose();
    onInvited();
    notify(`Invitation sent to ${input.email}. The link expires in three days.`);
  });
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack>
        <FormAlert failure={submit.failure} />
        <EmailField
          key={form.key("email")}
          {...form.getInputProps("email")}
          autoComplete="off"
          data-autofocus
        />
        {!isOperator && (
          <Radio.Group key={form.key("role")} {...form.getInputProps("role")} label="Role">
            <Stack gap="xs">
              {organizationRoles.map((role) => (
                <Radio key={role} value={role} {...roles[role]} />
              ))}
            </Stack>
          </Radio.Group>
        )}
        <DialogActions action="Send invitation" isBusy={submit.isBusy} />
      </Stack>
    </form>
  );
}
