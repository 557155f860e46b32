import { Button, Group, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { tell } from "../../app/tell.ts";
import { api } from "../../app/api.ts";
import { useSession, useSessionStore } from "../../app/session.ts";
import { useUnsaved } from "../../app/unsaved.tsx";
import { useSubmit } from "../../app/use-submit.ts";
import { KnownEmail } from "../../components/email-field.tsx";
import { FormAlert } from "../../components/form-alert.tsx";
import { Section } from "../../components/section.tsx";

export function ProfileSection() {
  const { user } = useSession();
  const session = useSessionStore();
  const form = useForm({ mode: "uncontrolled", initialValues: { name: user.name } });
  useUnsaved(() => (form.isDirty() ? "changed" : "clean"));
  const submit = useSubmit(form, async (values) => {
    await api.patch("auth/profile", values);
    await session.load();
    tell("Your name is changed.");
  });
  return (
    <Section
      title="Profile"
      description="Your name stands beside what you do. Your e-mail is what you sign in with."
    >
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack maw={420}>
          <FormAlert message={submit.failure} />
          <KnownEmail value={user.email} />
          <TextInput
            key={form.key("name")}
            {...form.getInputProps("name")}
            label="Name"
            autoComplete="name"
            maxLength={120}
            required
            withAsterisk={false}
          />
          <Group>
            <Button type="submit" variant="default" loading={submit.isBusy}>
              Save name
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}
