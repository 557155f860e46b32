/** The members and invitations of an organisation, and what operators can do for them. */
import { useMutation } from "@apollo/client/react";
import { Button, Menu, Stack, Text } from "@mantine/core";
import { IconShieldOff } from "@tabler/icons-react";
import { Email } from "../../../components/display/email.tsx";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { notify, notifyError } from "../../../app/interaction/notify.tsx";
import { type DialogState, useDialog } from "../../../app/interaction/use-dialog.ts";
import { roles } from "../../../app/session/roles.ts";
import { ConfirmDialog } from "../../../components/dialogs/confirm-dialog.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import { DataTable, type Column } from "../../../components/tables/data-table.tsx";
import { RowActions } from "../../../components/tables/row-actions.tsx";
import { AuditPageDocument } from "../../../generated/audit-log.ts";
import {
  ResendInvitationDocument,
  type InvitationRowFragment,
  type MemberRowFragment,
} from "../../../generated/members.ts";
import {
  ResetMemberTwoFactorDocument,
  type OrganizationOverviewFragment,
} from "../../../generated/organization.ts";
import classes from "../operator.module.css";
import { LastTime } from "./organization.figures.tsx";
import { Expiry, PartSection } from "./organization.parts.tsx";

interface MembersPartProps {
  overview: OrganizationOverviewFragment;
  onChange: () => Promise<unknown>;
}

/** `onChange`: reloads the organisation. */
export function MembersPart({ overview: { members, invitations }, onChange }: MembersPartProps) {
  const resetting = useDialog<MemberRowFragment>();
  return (
    <PartSection
      title="Members"
      count={members.length}
      empty="No one has registered yet. Account requests show whether the registration link was used."
      action={
        <TextLink to="/operator/requests" fz="sm">
          Account requests
        </TextLink>
      }
    >
      <Stack gap="md">
        <DataTable
          caption="Members"
          columns={[...memberColumns, actionsColumn(resetting.open)]}
          rows={members}
          rowKey={({ id }) => id}
        />
        {invitations.length > 0 && (
          <DataTable
            caption="Invitations"
            columns={invitationColumns}
            rows={invitations}
            rowKey={({ id }) => id}
          />
        )}
      </Stack>
      <ResetTwoFactorDialog dialog={resetting} onChange={onChange} />
    </PartSection>
  );
}

const memberColumns: readonly Column<MemberRowFragment>[] = [
  {
    id: "name",
    header: "Name",
    isTitle: true,
    cell: ({ name, email }) => (
      <div>
        {name}
        <Text fz="sm" c="dimmed" fw={400} className={classes.anywhere}>
          <Email address={email} />
        </Text>
      </div>
    ),
  },
  { id: "role", header: "Role", cell: ({ role }) => roles[role].label },
  {
    id: "two-factor",
    header: "Two-factor",
    cell: ({ hasTwoFactor }) => (
      <StatusBadge label={hasTwoFactor ? "On" : "Off"} tone={hasTwoFactor ? "success" : "muted"} />
    ),
  },
  { id: "seen", header: "Last seen", cell: ({ lastSeenAt }) => <LastTime value={lastSeenAt} /> },
];

function actionsColumn(onReset: (member: MemberRowFragment) => void): Column<MemberRowFragment> {
  return {
    id: "actions",
    header: "Actions",
    isActions: true,
    cell: (member) =>
      member.hasTwoFactor && (
        <RowActions label={`Actions for ${member.email}`}>
          <Menu.Item
            color="red"
            leftSection={<IconShieldOff size={16} aria-hidden="true" />}
            onClick={() => onReset(member)}
          >
            Reset two-factor…
          </Menu.Item>
        </RowActions>
      ),
  };
}

function ResetTwoFactorDialog({
  dialog: { subject: member, isOpen, close },
  onChange,
}: Pick<MembersPartProps, "onChange"> & { dialog: DialogState<MemberRowFragment> }) {
  const [reset] = useMutation(ResetMemberTwoFactorDocument, { refetchQueries: [AuditPageDocument] });
  return (
    <ConfirmDialog
      opened={isOpen}
      onClose={close}
      title={`Reset two-factor authentication of ${member?.name}?`}
      action="Reset"
      isDangerous
      onConfirm={async () => {
        const { data } = await reset({ variables: { id: member?.id ?? "" } });
        payloadOrThrow(data?.resetMemberTwoFactor);
        await onChange();
        notify(`${member?.email} can sign in with the password alone.`);
      }}
    >
      <Text>
        First make sure, by a call for example, that {member?.email} asked for it. It is turned off and their
        passkeys are removed, they are signed out on all devices, and they get an e-mail.
      </Text>
    </ConfirmDialog>
  );
}

const invitationColumns: readonly Column<InvitationRowFragment>[] = [
  { id: "email", header: "Invited", isTitle: true, cell: ({ email }) => <Email address={email} /> },
  { id: "role", header: "Role", cell: ({ role }) => roles[role].label },
  { id: "by", header: "Invited by", cell: ({ invitedBy }) => invitedBy },
  { id: "expires", header: "Link expires", cell: ({ expiresAt }) => <Expiry value={expiresAt} /> },
  {
    id: "resend",
    header: "Resend",
    isActions: true,
    cell: (invitation) => <ResendButton invitation={invitation} />,
  },
];

function ResendButton({ invitation: { id, email } }: { invitation: InvitationRowFragment }) {
  const [resend, { loading }] = useMutation(ResendInvitationDocument, {
    refetchQueries: [AuditPageDocument],
  });
  const send = async (): Promise<void> => {
    try {
      payloadOrThrow((await resend({ variables: { id } })).data?.resendInvitation);
      notify(`Invitation resent to ${email}.`);
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <Button
      variant="default"
      size="compact-sm"
      loading={loading}
      aria-label={`Resend the invitation to ${email}`}
      onClick={() => void send()}
    >
      Resend
    </Button>
  );
}
