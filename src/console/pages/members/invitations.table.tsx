import { useMutation } from "@apollo/client/react";
import { Menu } from "@mantine/core";
import { IconMailForward, IconMailOff } from "@tabler/icons-react";
import { Email } from "../../components/display/email.tsx";
import { notify, notifyError } from "../../app/interaction/notify.tsx";
import { roles } from "../../app/session/roles.ts";
import { useDialog } from "../../app/interaction/use-dialog.ts";
import { payloadOrThrow } from "../../app/api/user-errors.ts";
import { ConfirmDialog } from "../../components/dialogs/confirm-dialog.tsx";
import { DataTable, type Column } from "../../components/tables/data-table.tsx";
import { RowActions } from "../../components/tables/row-actions.tsx";
import { StatusBadge } from "../../components/status/status-badge.tsx";
import { useNow } from "../../app/clock.ts";
import { Timestamp } from "../../components/display/timestamp.tsx";
import {
  ResendInvitationDocument,
  RevokeInvitationDocument,
  type InvitationRowFragment,
} from "../../generated/members.ts";

interface InvitationsTableProps {
  invitations: readonly InvitationRowFragment[];
  onChange: () => Promise<unknown>;
}

export function InvitationsTable({ invitations, onChange }: InvitationsTableProps) {
  const revoking = useDialog<InvitationRowFragment>();
  const [revokeInvitation] = useMutation(RevokeInvitationDocument);
  const revoke = async (): Promise<void> => {
    const { data } = await revokeInvitation({ variables: { id: revoking.subject?.id ?? "" } });
    payloadOrThrow(data?.revokeInvitation);
    await onChange();
  };
  const actions: Column<InvitationRowFragment> = {
    id: "actions",
    header: "Actions",
    isActions: true,
    cell: (invitation) => (
      <InvitationActions invitation={invitation} onRevoke={() => revoking.open(invitation)} />
    ),
  };
  return (
    <>
      <DataTable
        caption="Invitations"
        columns={[...columns, actions]}
        rows={invitations}
        rowKey={({ id }) => id}
      />
      <ConfirmDialog
        opened={revoking.isOpen}
        onClose={revoking.close}
        title="Revoke the invitation?"
        action="Revoke invitation"
        isDangerous
        onConfirm={revoke}
      >
        The link sent to {revoking.subject?.email} will stop working.
      </ConfirmDialog>
    </>
  );
}

const columns: readonly Column<InvitationRowFragment>[] = [
  { id: "email", header: "E-mail", isTitle: true, cell: ({ email }) => <Email address={email} /> },
  { id: "role", header: "Role", cell: ({ role }) => roles[role].label },
  { id: "by", header: "Invited by", cell: ({ invitedBy }) => invitedBy },
  { id: "at", header: "Sent", cell: ({ invitedAt }) => <Timestamp value={invitedAt} /> },
  { id: "expires", header: "Expires", cell: ({ expiresAt }) => <LinkExpiry expiresAt={expiresAt} /> },
];

function LinkExpiry({ expiresAt }: { expiresAt: string }) {
  if (Date.parse(expiresAt) < useNow()) return <StatusBadge label="Expired" tone="attention" />;
  return <Timestamp value={expiresAt} />;
}

function InvitationActions({
  invitation,
  onRevoke,
}: {
  invitation: InvitationRowFragment;
  onRevoke: () => void;
}) {
  const [resendInvitation] = useMutation(ResendInvitationDocument);
  const resend = async (): Promise<void> => {
    try {
      const { data } = await resendInvitation({ variables: { id: invitation.id } });
      payloadOrThrow(data?.resendInvitation);
      notify(`Invitation resent to ${invitation.email}.`);
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <RowActions label={`Actions for ${invitation.email}`}>
      <Menu.Item leftSection={<IconMailForward size={16} aria-hidden="true" />} onClick={() => void resend()}>
        Resend{" "}
      </Menu.Item>
      <Menu.Item color="red" leftSection={<IconMailOff size={16} aria-hidden="true" />} onClick={onRevoke}>
        Revoke…{" "}
      </Menu.Item>
    </RowActions>
  );
}
