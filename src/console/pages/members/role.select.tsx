/** The role of a member, which an owner can change. */
import { useMutation } from "@apollo/client/react";
import { Group, Select, Stack, Text } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import { useState } from "react";
import { payloadOrThrow } from "../../app/api/user-errors.ts";
import { notify, notifyError } from "../../app/interaction/notify.tsx";
import { useDialog } from "../../app/interaction/use-dialog.ts";
import { organizationRoles, roles } from "../../app/session/roles.ts";
import { useSession, useSessionStore } from "../../app/session/session.ts";
import { ConfirmDialog } from "../../components/dialogs/confirm-dialog.tsx";
import { SetMemberRoleDocument, type MemberRole, type MemberRowFragment } from "../../generated/members.ts";

const data = organizationRoles.map((role) => ({ value: role, label: roles[role].label }));

export function RoleSelect({ member: { id, name, email, role } }: { member: MemberRowFragment }) {
  const { user } = useSession();
  const session = useSessionStore();
  const [setMemberRole] = useMutation(SetMemberRoleDocument);
  const [isBusy, setBusy] = useState(false);
  const stepping = useDialog<MemberRole>();
  const change = async (next: MemberRole): Promise<void> => {
    setBusy(true);
    try {
      const { data: changed } = await setMemberRole({ variables: { id, role: next } });
      payloadOrThrow(changed?.setMemberRole);
      notify(`${name} is now ${next === "OWNER" ? "an" : "a"} ${roles[next].label.toLowerCase()}.`);
      // Users who changed their own role get the navigation of the new role.
      if (id === user.id) await session.load();
    } catch (error) {
      notifyError(error);
    } finally {
      setBusy(false);
    }
  };
  const choose = (next: MemberRole): void => {
    if (next === role) return;
    if (id === user.id) stepping.open(next);
    else void change(next);
  };
  return (
    <>
      <Select
        size="xs"
        w={150}
        aria-label={`Role of ${email}`}
        data={data}
        value={role}
        disabled={isBusy}
        allowDeselect={false}
        maxDropdownHeight={360}
        comboboxProps={{ width: 260, position: "bottom-start" }}
        renderOption={({ option, checked }) => <RoleOption role={option.value} isCurrent={checked} />}
        onChange={(next) => next && choose(next)}
      />
      <ConfirmDialog
        opened={stepping.isOpen}
        onClose={stepping.close}
        title="Give up your role?"
        action="Change my role"
        isDangerous
        onConfirm={() => change(stepping.subject ?? role)}
      >
        You will no longer be an owner. Only another owner can make you one again.
      </ConfirmDialog>
    </>
  );
}

function RoleOption({ role, isCurrent = false }: { role: MemberRole; isCurrent?: boolean | undefined }) {
  return (
    <Stack gap={0}>
      <Group gap={6}>
        <Text span fz="sm" fw={600}>
          {roles[role].label}
        </Text>
        {isCurrent && <IconCheck size={14} aria-hidden="true" />}
      </Group>
      <Text fz="xs" c="dimmed">
        {roles[role].description}
      </Text>
    </Stack>
  );
}
