/** Adds a note about a request that only operators see. */
import { useMutation } from "@apollo/client/react";
import { Button, Group, Paper, Stack, Textarea } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notify } from "../../../app/interaction/notify.tsx";
import { useUnsavedInput } from "../../../app/interaction/unsaved-changes.tsx";
import { useSubmit } from "../../../app/interaction/use-submit.ts";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { FormAlert } from "../../../components/forms/form-alert.tsx";
import { NoteAccountRequestDocument } from "../../../generated/account-request.ts";

export function NoteForm({ id }: { id: string }) {
  const [note] = useMutation(NoteAccountRequestDocument);
  const form = useForm({ initialValues: { text: "" } });
  useUnsavedInput(() => (form.isDirty() ? "changed" : "clean"));
  const submit = useSubmit(form, async ({ text }) => {
    payloadOrThrow((await note({ variables: { id, text } })).data?.addAccountRequestNote);
    form.reset();
    notify("Note added.");
  });
  return (
    <Paper component="section" p="lg" aria-label="Add a note">
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack gap="sm">
          <FormAlert failure={submit.failure} />
          <Textarea
            {...form.getInputProps("text")}
            label="Note for operators"
            description="Not visible to the person."
            autosize
            minRows={2}
            maxLength={2_000}
          />
          <Group justify="flex-end">
            <Button
              type="submit"
              variant="default"
              loading={submit.isBusy}
              disabled={form.values.text.trim() === ""}
            >
              Add note
            </Button>
          </Group>
        </Stack>
      </form>
    </Paper>
  );
}
