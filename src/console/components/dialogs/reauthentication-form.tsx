/** The "Confirm it's you" dialog: the password, and a code if two-factor authentication is on. */
import { Anchor, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useRef, useState } from "react";
import { ApiError } from "../../app/api/client.ts";
import { reauthentication } from "../../app/session/reauthentication.ts";
import { type CodeKind, sendCode, signIn } from "../../app/session/sign-in.ts";
import { useSession } from "../../app/session/session.ts";
import { DialogProvider, type InputState } from "../../app/interaction/unsaved-changes.tsx";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { confirmWithSingleSignOn } from "../../app/session/single-sign-on.ts";
import { ConfirmForm } from "./confirm-dialog.tsx";
import { DialogActions } from "./dialog-actions.tsx";
import { FormAlert } from "../forms/form-alert.tsx";
import { PasskeyButton } from "../forms/passkey-button.tsx";
import { PasswordField } from "../forms/password-field.tsx";

export function ReauthenticationForm() {
  const isBusy = useRef(false);
  const [control] = useState(() => ({
    inputs: new Set<() => InputState>(),
    isOpen: { current: true },
    // Closing is blocked while a request is in flight. A typed password is discarded without asking.
    requestClose: async (): Promise<void> => {
      if (!isBusy.current) reauthentication.settle(false);
    },
  }));
  return (
    <Modal
      opened
      onClose={() => void control.requestClose()}
      title={hasEnded() ? "Your session has ended" : "Confirm it’s you"}
      closeOnClickOutside={false}
      returnFocus={false}
      // Above the dialog with the action.
      zIndex={300}
    >
      <DialogProvider value={control}>
        <Proof onBusy={(next) => (isBusy.current = next)} />
      </DialogProvider>
    </Modal>
  );
}

const hasEnded = (): boolean => reauthentication.reason() === "ended";

/** Only one field can be wrong, unlike on the sign-in page. */
const wrongFields: Readonly<Record<string, { field: string; message: string }>> = {
  INVALID_EMAIL_OR_PASSWORD: { field: "password", message: "is not your password" },
  INVALID_CODE: { field: "code", message: "is wrong or was already used" },
  INVALID_BACKUP_CODE: { field: "code", message: "is wrong or was already used" },
};

function atField(error: unknown): unknown {
  const wrong = error instanceof ApiError ? wrongFields[error.code] : undefined;
  return error instanceof ApiError && wrong
    ? error.withDetails([{ code: "invalid_value", ...wrong }])
    : error;
}

interface ProofFormProps {
  onBusy: (isBusy: boolean) => void;
}

function Proof({ onBusy }: ProofFormProps) {
  const session = useSession();
  if (!session.user.by_sso)
    return (
      <Stack>
        <ProofForm onBusy={onBusy} />
        {session.user.has_passkeys && !hasEnded() && (
          <PasskeyButton label="Use a passkey" isSignedIn onDone={() => reauthentication.settle(true)} />
        )}
      </Stack>
    );
  return (
    <ConfirmForm
      action="Continue to your identity provider"
      onConfirm={() => confirmWithSingleSignOn(session)}
    >
      Sign in again with your identity provider, which returns you to this page. We ask at most once every ten
      minutes.
    </ConfirmForm>
  );
}

function Reason() {
  return (
    <Text>
      {hasEnded()
        ? "Sign in again to go on. What you entered on this page is kept."
        : "Enter your password to continue. We ask at most once every ten minutes."}
    </Text>
  );
}

function ProofForm({ onBusy }: ProofFormProps) {
  const { user } = useSession();
  const [kind, setKind] = useState<CodeKind>("totp");
  const form = useForm({ mode: "uncontrolled", initialValues: { password: "", code: "" } });
  const submit = useSubmit(form, async ({ password, code }) => {
    onBusy(true);
    try {
      if (await signIn({ email: user.email, password })) await sendCode(code, kind);
      reauthentication.settle(true);
    } catch (error) {
      throw atField(error);
    } finally {
      onBusy(false);
    }
  });
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack>
        <Reason />
        <FormAlert failure={submit.failure} />
        <PasswordField
          key={form.key("password")}
          {...form.getInputProps("password")}
          label="Your password"
          autoComplete="current-password"
          data-autofocus
          required
        />
        {user.has_two_factor && (
          <TextInput
            key={`${kind} ${form.key("code")}`}
            {...form.getInputProps("code")}
            label={kind === "totp" ? "Code from your authenticator app" : "Recovery code"}
            inputMode={kind === "totp" ? "numeric" : "text"}
            autoComplete="one-time-code"
            required
            withAsterisk={false}
          />
        )}
        {user.has_two_factor && (
          <Anchor
            component="button"
            type="button"
            fz="sm"
            ta="start"
            onClick={() => {
              form.setFieldValue("code", "");
              setKind(kind === "totp" ? "recovery_code" : "totp");
            }}
          >
            {kind === "totp" ? "Use a recovery code" : "Use the authenticator app"}
          </Anchor>
        )}
        <DialogActions action={hasEnded() ? "Sign in" : "Confirm"} isBusy={submit.isBusy} />
      </Stack>
    </form>
  );
}
