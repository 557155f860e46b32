/** E-mail and password, and the second factor of who has one. */
import { Button, Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { useSessionStore } from "../../app/session.ts";
import { useSubmit } from "../../app/use-submit.ts";
import { EmailField } from "../../components/email-field.tsx";
import { FormAlert } from "../../components/form-alert.tsx";
import { PasswordField } from "../../components/password-field.tsx";
import { TextLink } from "../../components/links.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { SecondFactorForm } from "./second-factor.form.tsx";

export function SignInPage() {
  const [step, setStep] = useState<"password" | "second-factor">("password");
  return step === "password" ? (
    <PasswordStep onSecondFactor={() => setStep("second-factor")} />
  ) : (
    <SecondFactorForm onBack={() => setStep("password")} />
  );
}

function PasswordStep({ onSecondFactor }: { onSecondFactor: () => void }) {
  const session = useSessionStore();
  const form = useForm({ mode: "uncontrolled", initialValues: { email: "", password: "" } });
  const submit = useSubmit(form, async (values) => {
    const answer = await api.anonymous.post<{ second_factor_required: boolean }>("auth/sign-in", values);
    if (answer.second_factor_required) onSecondFactor();
    // The route's guard takes it from here: to where the person was going.
    else await session.load();
  });
  return (
    <>
      <PageHeader title="Sign in" />
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack>
          <FormAlert message={submit.failure} />
          <EmailField key={form.key("email")} {...form.getInputProps("email")} autoComplete="username" />
          <PasswordField
            key={form.key("password")}
            {...form.getInputProps("password")}
            label="Password"
            autoComplete="current-password"
            required
          />
          <Button type="submit" loading={submit.isBusy} fullWidth mt={4}>
            Sign in
          </Button>
          <Text fz="sm" ta="center">
            <TextLink to="/forgotten-password">Forgotten your password?</TextLink>
          </Text>
          <Text fz="sm" ta="center" c="dimmed">
            No account yet? <TextLink to="/request-account">Request one</TextLink>
          </Text>
        </Stack>
      </form>
    </>
  );
}
