/** Shows the console as a viewer of the organisation sees it. */
import { useMutation } from "@apollo/client/react";
import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { useSessionStore } from "../../../app/session/session.ts";
import { ConfirmDialog } from "../../../components/dialogs/confirm-dialog.tsx";
import { ViewAsOrganizationDocument } from "../../../generated/organization.ts";

interface ViewActionProps {
  organization: { readonly id: string; readonly name: string };
}

export function ViewAction({ organization: { id, name } }: ViewActionProps) {
  const [isOpen, dialog] = useDisclosure(false);
  const [view] = useMutation(ViewAsOrganizationDocument);
  const store = useSessionStore();
  const navigate = useNavigate();
  return (
    <>
      <Button variant="default" onClick={dialog.open}>
        View as partner…
      </Button>
      <ConfirmDialog
        opened={isOpen}
        onClose={dialog.close}
        title={`View as ${name}`}
        action="View as partner"
        onConfirm={async () => {
          payloadOrThrow((await view({ variables: { id } })).data?.viewAsOrganization);
          await store.load();
          store.setMode("partner");
          // The dialog blocks leaving the page until it has closed.
          await navigate({ to: "/", ignoreBlocker: true });
        }}
      >
        You see the console as a member of {name} with the role Viewer, in this tab, and can change nothing.
        Its owners see in their audit log that an operator has looked.
      </ConfirmDialog>
    </>
  );
}
