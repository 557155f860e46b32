/** Shutting an organisation out, and letting it in again. */
import { useMutation } from "@apollo/client/react";
import { Button, List, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { notify } from "../../../app/interaction/notify.ts";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { ConfirmDialog } from "../../../components/dialogs/confirm-dialog.tsx";
import { RestoreOrganizationDocument, SuspendOrganizationDocument } from "../../../generated/organization.ts";
import type { OrganizationRowFragment } from "../../../generated/organizations.ts";
import { AuditPageDocument } from "../../../generated/audit-log.ts";
import { PromptDialog } from "../prompt.dialog.tsx";

interface SuspensionActionProps {
  organization: OrganizationRowFragment;
}

/** The page shows the log. */
const refetchAuditLog = { refetchQueries: [AuditPageDocument] };

export function SuspensionAction({ organization }: SuspensionActionProps) {
  return organization.suspendedAt === null ? (
    <SuspendAction organization={organization} />
  ) : (
    <RestoreAction organization={organization} />
  );
}

function SuspendAction({ organization: { id, name, memberCount } }: SuspensionActionProps) {
  const [isOpen, dialog] = useDisclosure(false);
  const [suspend] = useMutation(SuspendOrganizationDocument, refetchAuditLog);
  return (
    <>
      <Button variant="outline" color="red" onClick={dialog.open}>
        Suspend…
      </Button>
      <PromptDialog
        opened={isOpen}
        onClose={dialog.close}
        title={`Suspend ${name}`}
        fieldName="reason"
        label="Reason"
        description="For the audit log. Operators read it; the organisation does not."
        action="Suspend organisation"
        isDangerous
        onSubmit={async (reason) => {
          payloadOrThrow((await suspend({ variables: { id, reason } })).data?.suspendOrganization);
          notify(`${name} is suspended.`);
        }}
      >
        <Text>At once, until you restore it:</Text>
        <List mt="xs">
          <List.Item>every API key of it is refused, within a second</List.Item>
          <List.Item>{membersText(memberCount)} signed out, and cannot sign in</List.Item>
          <List.Item>nothing more is sent to its webhook endpoints</List.Item>
        </List>
        <Text mt="xs">
          Its jobs stay, and can still be changed by the other side. Nobody is told by mail.
        </Text>
      </PromptDialog>
    </>
  );
}

function membersText(count: number | null): string {
  if (count === 1) return "its one member is";
  return count === null || count === 0 ? "its people are" : `its ${count.toLocaleString("en")} members are`;
}

function RestoreAction({ organization: { id, name } }: SuspensionActionProps) {
  const [isOpen, dialog] = useDisclosure(false);
  const [restore] = useMutation(RestoreOrganizationDocument, refetchAuditLog);
  return (
    <>
      <Button onClick={dialog.open}>Restore…</Button>
      <ConfirmDialog
        opened={isOpen}
        onClose={dialog.close}
        title={`Restore ${name}`}
        action="Restore organisation"
        onConfirm={async () => {
          payloadOrThrow((await restore({ variables: { id } })).data?.restoreOrganization);
          notify(`${name} is in again.`);
        }}
      >
        Its keys are good again, its people can sign in, and what has waited for its endpoints is sent.
      </ConfirmDialog>
    </>
  );
}
