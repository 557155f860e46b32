/** Suspends and restores an organisation. */
import { formatNumber } from "../../../app/formats.ts";
import { useMutation } from "@apollo/client/react";
import { Button, List, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { notify } from "../../../app/interaction/notify.tsx";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { ConfirmDialog } from "../../../components/dialogs/confirm-dialog.tsx";
import { RestoreOrganizationDocument, SuspendOrganizationDocument } from "../../../generated/organization.ts";
import type { OrganizationRowFragment } from "../../../generated/organizations.ts";
import { AuditPageDocument } from "../../../generated/audit-log.ts";
import { PromptDialog } from "../prompt.dialog.tsx";

interface SuspensionActionProps {
  organization: OrganizationRowFragment;
}

/** Updates the activity on the page. */
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
        description="Recorded in the audit log, which operators can see. The organisation can’t."
        action="Suspend organisation"
        isDangerous
        onSubmit={async (reason) => {
          payloadOrThrow((await suspend({ variables: { id, reason } })).data?.suspendOrganization);
          notify(`${name} suspended.`);
        }}
      >
        <Text>Until you restore the organisation:</Text>
        <List mt="xs">
          <List.Item>its API keys are rejected, within one second</List.Item>
          <List.Item>{membersText(memberCount)} signed out and can’t sign in</List.Item>
          <List.Item>nothing is sent to its webhook endpoints</List.Item>
        </List>
        <Text mt="xs">Its jobs stay, and other organisations can still change them. No e-mail is sent.</Text>
      </PromptDialog>
    </>
  );
}

function membersText(count: number | null): string {
  if (count === 1) return "its only member is";
  return count === null || count === 0 ? "its members are" : `its ${formatNumber(count)} members are`;
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
          notify(`${name} restored.`);
        }}
      >
        Its API keys work again, its members can sign in, and pending events are sent to its endpoints.
      </ConfirmDialog>
    </>
  );
}
