/** A note among operators about a request. */
import { useMutation } from "@apollo/client/react";
import { Button, Group, Paper, Stack, Textarea } from "@mantine/core";
import { useForm } from "@mantine/form";
import { tell } from "../../app/tell.ts";
import { useUnsaved } from "../../app/unsaved.tsx";
import { useSubmit } from "../../app/use-submit.ts";
import { accepted } from "../../app/user-errors.ts";
import { FormAlert } from "../../components/form-alert.tsx";
import { NoteAccountRequestDocument } from "../../generated/account-request.ts";

export function NoteForm({ id }: { id: string }) {
  const [note] = useMutation(NoteAccountRequestDocument);
  const form = useForm({ initialValues: { text: "" } });
  useUnsaved(() => (form.isDirty() ? "changed" : "clean"));
  const submit = useSubmit(form, async ({ text }) => {
    accepted((await note({ variables: { id, text } })).data?.noteAccountRequest);
    form.reset();
    tell("The note is kept.");
  });
  return (
    <Paper component="section" p="lg" aria-label="Add a note">
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack gap="sm">
          <FormAlert message={submit.failure} />
          <Textarea
            {...form.getInputProps("text")}
            label="Note for operators"
            description="The person never sees it."
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
