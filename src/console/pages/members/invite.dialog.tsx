import { useMutation } from "@apollo/client/react";
import { Button, Group, Modal, Radio, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { tell } from "../../app/tell.ts";
import { useSubmit } from "../../app/use-submit.ts";
import { accepted } from "../../app/user-errors.ts";
import { FormAlert } from "../../components/form-alert.tsx";
import { InviteMemberDocument, type MemberRole } from "../../generated/members.ts";

interface InviteDialogProps {
  opened: boolean;
  onClose: () => void;
  /** Operators invite operators. */
  isOperator: boolean;
  onInvited: () => void;
}

const roles = [
  { value: "MEMBER", label: "Member", description: "Reads and changes jobs." },
  { value: "OWNER", label: "Owner", description: "Everything: also keys, webhooks and members." },
];

export function InviteDialog({ opened, onClose, ...form }: InviteDialogProps) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={form.isOperator ? "Invite an operator" : "Invite a member"}
    >
      <InviteForm onClose={onClose} {...form} />
    </Modal>
  );
}

function InviteForm({ onClose, isOperator, onInvited }: Omit<InviteDialogProps, "opened">) {
  const [inviteMember] = useMutation(InviteMemberDocument);
  const initialValues: { email: string; role: MemberRole } = {
    email: "",
    role: isOperator ? "OPERATOR" : "MEMBER",
  };
  const form = useForm({ mode: "uncontrolled", initialValues });
  const submit = useSubmit(form, async (input) => {
    const { data } = await inviteMember({ variables: { input } });
    accepted(data?.inviteMember);
    onClose();
    onInvited();
    tell(`${input.email} is invited. The link in the mail is good for three days.`);
  });
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack>
        <FormAlert message={submit.failure} />
        <TextInput
          key={form.key("email")}
          {...form.getInputProps("email")}
          label="E-mail"
          type="email"
          autoComplete="off"
          data-autofocus
          required
          withAsterisk={false}
        />
        {!isOperator && (
          <Radio.Group key={form.key("role")} {...form.getInputProps("role")} label="Role">
            <Stack gap="xs">
              {roles.map((role) => (
                <Radio key={role.value} {...role} />
              ))}
            </Stack>
          </Radio.Group>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} disabled={submit.isBusy}>
            Cancel
          </Button>
          <Button type="submit" loading={submit.isBusy}>
            Send invitation
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
