/** Single sign-on on the sign-in page, and the error of the last attempt. */
import { Box, Button, Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useEffect, useState } from "react";
import { api } from "../../app/api/client.ts";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { ssoErrorMessage, type SsoStart, startSingleSignOn } from "../../app/session/single-sign-on.ts";
import { EmailField } from "../../components/forms/email-field.tsx";
import { FormAlert } from "../../components/forms/form-alert.tsx";

interface Offer {
  single_sign_on: { operators: boolean; organizations: boolean };
}

/** `code`: the `error` parameter of the page. */
export function SingleSignOnError({ code }: { code: string | undefined }) {
  const message = ssoErrorMessage(code);
  return (
    message !== null && (
      <Box mb="md">
        <FormAlert failure={{ message, guide: null }} />
      </Box>
    )
  );
}

/** Null until the server has answered, and if it does not: the password form alone is offered then. */
export function useSingleSignOnOffer(): Offer["single_sign_on"] | null {
  const [offer, setOffer] = useState<Offer["single_sign_on"] | null>(null);
  useEffect(() => {
    api.anonymous.get<Offer>("auth/sign-in-methods").then(
      (answer) => setOffer(answer.single_sign_on),
      () => undefined,
    );
  }, []);
  return offer;
}

/** Leaves for the identity provider. Without a field that could be wrong. */
export function SingleSignOnButton({ label, start, variant }: SingleSignOnButtonProps) {
  const form = useForm({ mode: "uncontrolled", initialValues: {} });
  const submit = useSubmit(form, () => startSingleSignOn(start));
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack>
        <FormAlert failure={submit.failure} />
        <Button type="submit" variant={variant} loading={submit.isBusy} fullWidth>
          {label}
        </Button>
      </Stack>
    </form>
  );
}

interface SingleSignOnButtonProps {
  label: string;
  start: SsoStart;
  variant: "filled" | "subtle";
}

/** `next`: the page to open after signing in. */
export function SingleSignOn({
  offer,
  next = "/",
}: {
  offer: Offer["single_sign_on"];
  next: string | undefined;
}) {
  const [isAsking, setAsking] = useState(false);
  const form = useForm({ mode: "uncontrolled", initialValues: { email: "" } });
  const submit = useSubmit(form, ({ email }) =>
    startSingleSignOn({ provider: "organization", email, callbackURL: next }),
  );
  return (
    <>
      {offer.organizations && !isAsking && (
        <Button variant="default" fullWidth onClick={() => setAsking(true)}>
          Sign in with single sign-on
        </Button>
      )}
      {offer.organizations && isAsking && (
        <form onSubmit={form.onSubmit(submit.onSubmit)}>
          <Stack>
            <FormAlert failure={submit.failure} />
            <EmailField
              key={form.key("email")}
              {...form.getInputProps("email")}
              label="E-mail address at your organisation"
              autoComplete="username"
              data-autofocus
            />
            <Button type="submit" variant="default" loading={submit.isBusy} fullWidth>
              Continue with single sign-on
            </Button>
          </Stack>
        </form>
      )}
      {offer.operators && (
        <SingleSignOnButton
          label="Operators: single sign-on"
          start={{ provider: "operators", callbackURL: next }}
          variant="subtle"
        />
      )}
    </>
  );
}
