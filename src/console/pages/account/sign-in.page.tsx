/** Signs in with a passkey, or with e-mail and password, then with a code if two-factor authentication is on. */
import { Button, Divider, Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconInfoCircle } from "@tabler/icons-react";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { supportsPasskeys } from "../../app/session/passkeys.ts";
import { useSessionStore } from "../../app/session/session.ts";
import { signIn } from "../../app/session/sign-in.ts";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { EmailField } from "../../components/forms/email-field.tsx";
import { FormAlert } from "../../components/forms/form-alert.tsx";
import { PasskeyButton } from "../../components/forms/passkey-button.tsx";
import { PasswordField } from "../../components/forms/password-field.tsx";
import { TextLink } from "../../components/layout/links.tsx";
import { PageHeader } from "../../components/layout/page-header.tsx";
import { Alert } from "../../components/status/alert.tsx";
import { SingleSignOn, SingleSignOnError, useSingleSignOnOffer } from "./single-sign-on.tsx";
import { TwoFactorForm } from "./two-factor.form.tsx";

export function SignInPage() {
  const [step, setStep] = useState<"password" | "two-factor">("password");
  return step === "password" ? (
    <PasswordStep onTwoFactor={() => setStep("two-factor")} />
  ) : (
    <TwoFactorForm onBack={() => setStep("password")} />
  );
}

/** Why the user was signed out. */
function SessionEnd() {
  const reason = useSessionStore().endReason();
  return (
    reason !== null && (
      <Alert mb="md" role="status" icon={<IconInfoCircle aria-hidden="true" />} guide={null}>
        {reason}
      </Alert>
    )
  );
}

function PasswordStep({ onTwoFactor }: { onTwoFactor: () => void }) {
  const { next, error } = useSearch({ from: "/public/sign-in" });
  const session = useSessionStore();
  const offer = useSingleSignOnOffer();
  const hasOtherWays = supportsPasskeys() || offer?.organizations === true || offer?.operators === true;
  const form = useForm({ mode: "uncontrolled", initialValues: { email: "", password: "" } });
  const submit = useSubmit(form, async (values) => {
    if (await signIn(values)) onTwoFactor();
    // The route's guard then redirects to the requested page.
    else await session.load();
  });
  return (
    <>
      <PageHeader title="Sign in" />
      <SingleSignOnError code={error} />
      <SessionEnd />
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack>
          <FormAlert failure={submit.failure} />
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
        </Stack>
      </form>
      {hasOtherWays && <Divider label="or" my="md" />}
      <Stack gap="sm">
        <PasskeyButton label="Sign in with a passkey" onDone={session.load} />
        {offer && <SingleSignOn offer={offer} next={next} />}
        <Text fz="sm" ta="center" c="dimmed" mt="xs">
          No account yet? <TextLink to="/request-account">Request one</TextLink>
        </Text>
      </Stack>
    </>
  );
}
