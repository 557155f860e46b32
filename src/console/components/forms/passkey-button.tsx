/** Signs in with a passkey, or confirms the user's identity. Hidden in a browser that can't. */
import { Button, Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { listPasskeys, signInWithPasskey, supportsPasskeys } from "../../app/session/passkeys.ts";
import { FormAlert } from "./form-alert.tsx";

interface PasskeyButtonProps {
  label: string;
  /** True for a user who is signed in: the browser then offers only their passkeys. */
  isSignedIn?: boolean;
  onDone: () => unknown;
}

export function PasskeyButton({ label, isSignedIn = false, onDone }: PasskeyButtonProps) {
  const form = useForm({ mode: "uncontrolled", initialValues: {} });
  const submit = useSubmit(form, async () => {
    await signInWithPasskey(isSignedIn ? await listPasskeys() : []);
    await onDone();
  });
  if (!supportsPasskeys()) return null;
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack>
        <FormAlert failure={submit.failure} />
        <Button type="submit" variant="default" loading={submit.isBusy} fullWidth>
          {label}
        </Button>
      </Stack>
    </form>
  );
}
