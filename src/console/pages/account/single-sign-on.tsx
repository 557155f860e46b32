/** Single sign-on on the sign-in page, and the error of the last attempt. */
import { Box, Button, Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useEffect, useState } from "react";
import { api } from "../../app/api/client.ts";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { ssoErrorMessage, startSingleSignOn } from "../../app/session/single-sign-on.ts";
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

/** `next`: the page to open after signing in. */
export function SingleSignOn({ next = "/" }: { next: string | undefined }) {
  const [offer, setOffer] = useState<Offer["single_sign_on"] | null>(null);
  const [isAsking, setAsking] = useState(false);
  useEffect(() => {
    // Without an answer the password form alone is offered.
    api.anonymous.get<Offer>("auth/sign-in-methods").then(
      (answer) => setOffer(answer.single_sign_on),
      () => undefined,
    );
  }, []);
  const form = useForm({ mode: "uncontrolled", initialValues: { email: "" } });
  const submit = useSubmit(form, ({ email }) =>
    startSingleSignOn({ provider: "organization", email, callbackURL: next }),
  );
  const operators = useForm({ mode: "uncontrolled", initialValues: {} });
  const submitOperators = useSubmit(operators, () =>
    startSingleSignOn({ provider: "operators", callbackURL: next }),
  );
  const failure = submit.failure ?? submitOperators.failure;
  return (
    <>
      <FormAlert failure={failure} />
      {offer?.organizations && !isAsking && (
        <Button variant="default" fullWidth onClick={() => setAsking(true)}>
          Sign in with single sign-on
        </Button>
      )}
      {offer?.organizations && isAsking && (
        <form onSubmit={form.onSubmit(submit.onSubmit)}>
          <Stack>
            <EmailField
              key={form.key("email")}
              {...form.getInputProps("email")}
              label="E-mail address at your organisation"
              autoComplete="username"
              data-autofocus
            />
            <Button type="submit" variant="default" loading={submit.isBusy} fullWidth>
              Continue to your identity provider
            </Button>
          </Stack>
        </form>
      )}
      {offer?.operators && (
        <form onSubmit={operators.onSubmit(submitOperators.onSubmit)}>
          <Button type="submit" variant="subtle" loading={submitOperators.isBusy} fullWidth>
            Operators: sign in with single sign-on
          </Button>
        </form>
      )}
    </>
  );
}
