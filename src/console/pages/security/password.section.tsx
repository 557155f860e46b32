import { Button, Group, Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notify } from "../../app/interaction/notify.tsx";
import { api } from "../../app/api/client.ts";
import { useSession } from "../../app/session/session.ts";
import { useUnsavedInput } from "../../app/interaction/unsaved-changes.tsx";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { FormAlert } from "../../components/forms/form-alert.tsx";
import { PasswordField } from "../../components/forms/password-field.tsx";
import { NewPasswordInput } from "../../components/forms/new-password-input.tsx";
import { Section } from "../../components/layout/section.tsx";

export function PasswordSection() {
  const { user } = useSession();
  const form = useForm({ mode: "uncontrolled", initialValues: { current_password: "", new_password: "" } });
  useUnsavedInput(() => (form.isDirty() ? "changed" : "clean"));
  const submit = useSubmit(form, async (values) => {
    await api.post("auth/password/change", values);
    form.reset();
    notify("Password changed. Your other sessions have been signed out.");
  });
  return (
    <Section title="Password" description="Changing your password signs you out of all other sessions.">
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack maw={420}>
          <FormAlert failure={submit.failure} />
          {/* Password managers need a user name in the form. */}
          <input type="text" name="username" autoComplete="username" value={user.email} readOnly hidden />
          <PasswordField
            key={form.key("current_password")}
            {...form.getInputProps("current_password")}
            label="Current password"
            autoComplete="current-password"
            required
          />
          <NewPasswordInput
            key={form.key("new_password")}
            {...form.getInputProps("new_password")}
            label="New password"
          />
          <Group>
            <Button type="submit" variant="default" loading={submit.isBusy}>
              Change password
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}
