/** Removes a member, and offers to revoke the keys that they created and the invitations that they sent. */
import { useMutation, useQuery } from "@apollo/client/react";
import { Stack, Text } from "@mantine/core";
import { useState } from "react";
import { keysCreatedBy } from "../../app/created-keys.ts";
import { useSession } from "../../app/session/session.ts";
import { notify } from "../../app/interaction/notify.tsx";
import type { DialogState } from "../../app/interaction/use-dialog.ts";
import { payloadOrThrow } from "../../app/api/user-errors.ts";
import { AlsoRevoke } from "../../components/dialogs/also-revoke.tsx";
import { ConfirmForm } from "../../components/dialogs/confirm-dialog.tsx";
import { Dialog } from "../../components/dialogs/dialog.tsx";
import { ErrorState, LoadingState } from "../../components/status/page-states.tsx";
import { useNow } from "../../app/clock.ts";
import {
  MemberAccessDocument,
  RemoveMemberDocument,
  type MemberAccessQuery,
  type MemberRowFragment,
} from "../../generated/members.ts";

interface RemoveMemberDialogProps {
  dialog: DialogState<MemberRowFragment>;
  onRemoved: () => Promise<unknown>;
}

export function RemoveMemberDialog({ dialog, onRemoved }: RemoveMemberDialogProps) {
  const { subject: member, isOpen, close, openCount } = dialog;
  return (
    <Dialog opened={isOpen} onClose={close} title={`Remove ${member?.name}?`}>
      {member && <RemoveMember key={openCount} member={member} onClose={close} onRemoved={onRemoved} />}
    </Dialog>
  );
}

interface RemoveMemberProps {
  member: MemberRowFragment;
  onClose: () => void;
  onRemoved: () => Promise<unknown>;
}

function RemoveMember({ member, onClose, onRemoved }: RemoveMemberProps) {
  const { data, error, refetch } = useQuery(MemberAccessDocument, { fetchPolicy: "network-only" });
  const access = useMemberAccess(member, data);
  const [removeMember] = useMutation(RemoveMemberDocument);
  const [revokeKeys, setRevokeKeys] = useState(false);
  const [revokeInvitations, setRevokeInvitations] = useState(true);
  if (error && !data) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!data) return <LoadingState label="Loading keys and invitations" />;
  const { keys, invitations } = access;
  const confirm = async (): Promise<void> => {
    const variables = { id: member.id, revokeKeys, revokeInvitations };
    payloadOrThrow((await removeMember({ variables })).data?.removeMember);
    await onRemoved();
    notify(`${member.name} removed.`);
  };
  return (
    <ConfirmForm action="Remove" isDangerous onConfirm={confirm} onClose={onClose}>
      <Stack gap="md">
        <Text>
          They are signed out immediately and can’t sign in again.
          {keys.length === 0 &&
            invitations.length === 0 &&
            " They created no API keys and sent no pending invitations."}
        </Text>
        {keys.length > 0 && (
          <AlsoRevoke
            label={keys.length === 1 ? "Revoke this key" : `Revoke these ${keys.length} keys`}
            items={keys.map(({ id, name, prefix }) => ({ id, name, note: `${prefix}…` }))}
            isChecked={revokeKeys}
            onChange={setRevokeKeys}
          >
            API keys that they created, directly or through other keys. They may know these keys. Integrations
            that use a revoked key need a new one.
          </AlsoRevoke>
        )}
        {invitations.length > 0 && (
          <AlsoRevoke
            label={
              invitations.length === 1
                ? "Revoke this invitation"
                : `Revoke these ${invitations.length} invitations`
            }
            items={invitations.map(({ id, email }) => ({ id, name: email }))}
            isChecked={revokeInvitations}
            onChange={setRevokeInvitations}
          >
            Pending invitations that they sent:
          </AlsoRevoke>
        )}
      </Stack>
    </ConfirmForm>
  );
}

/**
 * Active keys that the member created for their organisation (or for the operators), and their pending invitations.
 */
function useMemberAccess({ id, email }: MemberRowFragment, data: MemberAccessQuery | undefined) {
  const { organization } = useSession();
  const ofGroup = (data?.apiKeys ?? []).filter((key) => key.organization?.id === organization?.id);
  return {
    keys: keysCreatedBy(ofGroup, id, useNow()),
    invitations: (data?.invitations ?? []).filter(({ invitedBy }) => invitedBy === email),
  };
}
