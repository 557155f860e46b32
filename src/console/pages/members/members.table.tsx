import { Badge, Group, Menu, Text } from "@mantine/core";
import { IconUserMinus } from "@tabler/icons-react";
import { Email } from "../../components/display/email.tsx";
import { useSession } from "../../app/session/session.ts";
import { roles } from "../../app/session/roles.ts";
import { useDialog } from "../../app/interaction/use-dialog.ts";
import { DataTable, type Column } from "../../components/tables/data-table.tsx";
import { RowActions } from "../../components/tables/row-actions.tsx";
import { StatusBadge } from "../../components/status/status-badge.tsx";
import { Timestamp } from "../../components/display/timestamp.tsx";
import type { MemberRowFragment } from "../../generated/members.ts";
import { RemoveMemberDialog } from "./remove-member.dialog.tsx";
import { RoleSelect } from "./role.select.tsx";

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
        columns={[name, canManage ? editableRole : role, ...others, ...(canManage ? [actions] : [])]}
        rows={members}
        rowKey={({ id }) => id}
      />
      <RemoveMemberDialog dialog={removing} onRemoved={onChange} />
    </>
  );
}

const name: Column<MemberRowFragment> = {
  id: "name",
  header: "Name",
  isTitle: true,
  cell: (member) => <MemberName member={member} />,
};
const role: Column<MemberRowFragment> = {
  id: "role",
  header: "Role",
  cell: (member) => roles[member.role].label,
};
const editableRole: Column<MemberRowFragment> = {
  ...role,
  cell: (member) => (member.role === "OPERATOR" ? roles.OPERATOR.label : <RoleSelect member={member} />),
};
const others: readonly Column<MemberRowFragment>[] = [
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
        <Email address={member.email} />
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
  return (
    <RowActions label={`Actions for ${member.email}`}>
      <Menu.Item color="red" leftSection={<IconUserMinus size={16} aria-hidden="true" />} onClick={onRemove}>
        Remove…
      </Menu.Item>
    </RowActions>
  );
}
