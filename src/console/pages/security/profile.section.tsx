import { Button, Group, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notify } from "../../app/interaction/notify.tsx";
import { api } from "../../app/api/client.ts";
import { useSession, useSessionStore } from "../../app/session/session.ts";
import { useUnsavedInput } from "../../app/interaction/unsaved-changes.tsx";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { ReadOnlyEmailField } from "../../components/forms/email-field.tsx";
import { FormAlert } from "../../components/forms/form-alert.tsx";
import { Section } from "../../components/layout/section.tsx";

export function ProfileSection() {
  const { user } = useSession();
  const session = useSessionStore();
  const form = useForm({ mode: "uncontrolled", initialValues: { name: user.name } });
  useUnsavedInput(() => (form.isDirty() ? "changed" : "clean"));
  const submit = useSubmit(form, async (values) => {
    await api.patch("auth/profile", values);
    await session.load();
    notify("Name saved.");
  });
  return (
    <Section
      title="Profile"
      description="Your name appears next to your changes. You sign in with your e-mail address."
    >
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack maw={420}>
          <FormAlert failure={submit.failure} />
          <ReadOnlyEmailField value={user.email} />
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
