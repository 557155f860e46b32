/** Renames an organisation. */
import { useMutation } from "@apollo/client/react";
import { Button, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { notify } from "../../../app/interaction/notify.tsx";
import { useSubmit } from "../../../app/interaction/use-submit.ts";
import { Dialog } from "../../../components/dialogs/dialog.tsx";
import { DialogActions } from "../../../components/dialogs/dialog-actions.tsx";
import { FormAlert } from "../../../components/forms/form-alert.tsx";
import { AuditPageDocument } from "../../../generated/audit-log.ts";
import { RenameOrganizationDocument } from "../../../generated/organization.ts";

interface RenameProps {
  organization: { readonly id: string; readonly name: string };
}

export function RenameAction({ organization }: RenameProps) {
  const [isOpen, dialog] = useDisclosure(false);
  return (
    <>
      <Button variant="default" onClick={dialog.open}>
        Rename…
      </Button>
      <Dialog opened={isOpen} onClose={dialog.close} title={`Rename ${organization.name}`}>
        <RenameForm organization={organization} onClose={dialog.close} />
      </Dialog>
    </>
  );
}

function RenameForm({
  organization: { id, name: formerName },
  onClose,
}: RenameProps & { onClose: () => void }) {
  const [rename] = useMutation(RenameOrganizationDocument, { refetchQueries: [AuditPageDocument] });
  const form = useForm({ initialValues: { name: formerName } });
  const submit = useSubmit(form, async ({ name }) => {
    payloadOrThrow((await rename({ variables: { id, name } })).data?.renameOrganization);
    notify(`Renamed to ${name.trim()}.`);
    onClose();
  });
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack>
        <FormAlert failure={submit.failure} />
        <TextInput
          {...form.getInputProps("name")}
          label="Name"
          description="Its members and the organisations that it works with see the name."
          maxLength={120}
          data-autofocus
          required
          withAsterisk={false}
        />
        <Text fz="sm" c="dimmed">
          Lists show the new name within a minute. Events of the past keep the former one.
        </Text>
        <DialogActions action="Rename" isBusy={submit.isBusy} />
      </Stack>
    </form>
  );
}
