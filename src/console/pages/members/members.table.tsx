import { useMutation } from "@apollo/client/react";
import { Badge, Group, Menu, Text } from "@mantine/core";
import { notify, notifyError } from "../../app/interaction/notify.tsx";
import { IconArrowDown, IconArrowUp, IconUserMinus } from "@tabler/icons-react";
import { useSession, useSessionStore } from "../../app/session/session.ts";
import { useDialog } from "../../app/interaction/use-dialog.ts";
import { payloadOrThrow } from "../../app/api/user-errors.ts";
import { DataTable, type Column } from "../../components/tables/data-table.tsx";
import { RowActions } from "../../components/tables/row-actions.tsx";
import { StatusBadge } from "../../components/status/status-badge.tsx";
import { Timestamp } from "../../components/display/timestamp.tsx";
import { SetMemberRoleDocument, type MemberRowFragment } from "../../generated/members.ts";
import { RemoveMemberDialog } from "./remove-member.dialog.tsx";
import { roleLabels } from "./roles.ts";

interface MembersTableProps {
  members: readonly MemberRowFragment[];
  canManage: boolean;
  onChange: () => Promise<unknown>;
}

export function MembersTable({ members, canManage, onChange }: MembersTableProps) {
  const removing = useDialog<MemberRowFragment>();
  const actions: Column<MemberRowFragment> = {
    id: "actions",
    header: "Actions",
    isActions: true,
    cell: (member) => <MemberActions member={member} onRemove={() => removing.open(member)} />,
  };
  return (
    <>
      <DataTable
        caption="Members"
        columns={canManage ? [...columns, actions] : columns}
        rows={members}
        rowKey={({ id }) => id}
      />
      <RemoveMemberDialog dialog={removing} onRemoved={onChange} />
    </>
  );
}

const columns: readonly Column<MemberRowFragment>[] = [
  { id: "name", header: "Name", isTitle: true, cell: (member) => <MemberName member={member} /> },
  { id: "role", header: "Role", cell: ({ role }) => roleLabels[role] },
  {
    id: "two-factor",
    header: "Two-factor",
    cell: ({ hasTwoFactor }) => (
      <StatusBadge label={hasTwoFactor ? "On" : "Off"} tone={hasTwoFactor ? "success" : "muted"} />
    ),
  },
  {
    id: "seen",
    header: "Last seen",
    cell: (member) => <LastSeen member={member} />,
  },
];

function MemberName({ member }: { member: MemberRowFragment }) {
  const { user } = useSession();
  return (
    <div>
      <Group gap={8}>
        {member.name}
        {member.id === user.id && <Badge size="sm">You</Badge>}
      </Group>
      <Text fz="sm" c="dimmed" fw={400}>
        {member.email}
      </Text>
    </div>
  );
}

/** `lastSeenAt` is accurate to a minute; the current user is always "Now". */
function LastSeen({ member: { id, lastSeenAt } }: { member: MemberRowFragment }) {
  const { user } = useSession();
  if (id === user.id) return "Now";
  return lastSeenAt === null ? "Never" : <Timestamp value={lastSeenAt} />;
}

function MemberActions({ member, onRemove }: { member: MemberRowFragment; onRemove: () => void }) {
  const { user } = useSession();
  const session = useSessionStore();
  const [setMemberRole] = useMutation(SetMemberRoleDocument);
  const other = member.role === "OWNER" ? "MEMBER" : "OWNER";
  const Picture = other === "OWNER" ? IconArrowUp : IconArrowDown;
  const setRole = async (): Promise<void> => {
    try {
      const { data } = await setMemberRole({ variables: { id: member.id, role: other } });
      payloadOrThrow(data?.setMemberRole);
      notify(`${member.name} is now ${other === "OWNER" ? "an owner" : "a member"}.`);
      // Users who changed their own role get the navigation of the new role.
      if (member.id === user.id) await session.load();
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <RowActions label={`Actions for ${member.email}`}>
      {member.role !== "OPERATOR" && (
        <Menu.Item leftSection={<Picture size={16} aria-hidden="true" />} onClick={() => void setRole()}>
          Make {other === "OWNER" ? "owner" : "member"}
        </Menu.Item>
      )}
      <Menu.Item color="red" leftSection={<IconUserMinus size={16} aria-hidden="true" />} onClick={onRemove}>
        Remove…
      </Menu.Item>
    </RowActions>
  );
}
