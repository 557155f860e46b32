/** Sets up two-factor authentication: password, first code, recovery codes. */
import { Button, Code, Group, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { api, ApiError } from "../../app/api/client.ts";
import { focusOnMount } from "../../app/interaction/focus-on-mount.ts";
import { sendCode } from "../../app/session/sign-in.ts";
import { useSessionStore } from "../../app/session/session.ts";
import { notifyError } from "../../app/interaction/notify.tsx";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { CopyButton } from "../../components/display/copy-button.tsx";
import { Dialog } from "../../components/dialogs/dialog.tsx";
import { FormAlert } from "../../components/forms/form-alert.tsx";
import { PasswordForm } from "../../components/dialogs/password-dialog.tsx";
import { RecoveryCodes } from "./recovery-codes.tsx";
import { encode } from "uqr";
import classes from "./qr-code.module.css";

type Step =
  | { name: "password" }
  | { name: "code"; uri: string; codes: readonly string[] }
  | { name: "recovery"; codes: readonly string[] };

const titles: Record<Step["name"], string> = {
  password: "Set up two-factor authentication",
  code: "Scan the QR code",
  recovery: "Your recovery codes",
};

interface TwoFactorSecrets {
  totpURI: string;
  backupCodes: readonly string[];
}

interface TwoFactorSetupProps {
  opened: boolean;
  onClose: () => void;
}

export function TwoFactorSetup({ opened, onClose }: TwoFactorSetupProps) {
  const session = useSessionStore();
  const [step, setStep] = useState<Step>({ name: "password" });
  const close = (): void => {
    // Reload the session only now, because it rerenders the page and would hide the recovery codes.
    if (step.name === "recovery") session.load().catch(notifyError);
    setStep({ name: "password" });
    onClose();
  };
  const begin = async (password: string): Promise<void> => {
    try {
      const { totpURI: uri, backupCodes: codes } = await api.post<TwoFactorSecrets>(
        "auth/two-factor/enable",
        {
          password,
        },
      );
      setStep({ name: "code", uri, codes });
    } catch (error) {
      // Turned on in another tab meanwhile, so the session here is outdated.
      if (error instanceof ApiError && error.code === "TOTP_ALREADY_ENABLED") await session.load();
      throw error;
    }
  };

  return (
    <Dialog opened={opened} onClose={close} title={titles[step.name]} isShownOnce={step.name === "recovery"}>
      {step.name === "password" && (
        <PasswordForm action="Continue" onPassword={begin}>
          You need an authenticator app, or a password manager that generates one-time codes.
        </PasswordForm>
      )}
      {step.name === "code" && (
        <CodeStep uri={step.uri} onConfirmed={() => setStep({ name: "recovery", codes: step.codes })} />
      )}
      {step.name === "recovery" && <RecoveryCodes codes={step.codes} onDone={close} />}
    </Dialog>
  );
}

/** Groups of four are easier to read and type. */
function groupByFour(secret: string): string {
  return secret.replaceAll(/(.{4})(?=.)/g, "$1 ");
}

function CodeStep({ uri, onConfirmed }: { uri: string; onConfirmed: () => void }) {
  const secret = new URL(uri).searchParams.get("secret") ?? "";
  const form = useForm({ mode: "uncontrolled", initialValues: { code: "" } });
  const submit = useSubmit(form, async ({ code }) => {
    await sendCode(code, "totp");
    onConfirmed();
  });
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack>
        <Text>Scan this code with your authenticator app, then enter the six-digit code that it shows.</Text>
        <QrCode value={uri} label="QR code for your authenticator app" />
        <Group gap={6} wrap="nowrap" justify="center">
          <Text fz="sm" c="dimmed" ta="center" style={{ overflowWrap: "anywhere" }}>
            Or enter the key: <Code>{groupByFour(secret)}</Code>
          </Text>
          <CopyButton value={secret} label="key" />
        </Group>
        <FormAlert failure={submit.failure} />
        <TextInput
          key={form.key("code")}
          {...form.getInputProps("code")}
          ref={focusOnMount}
          label="Code"
          inputMode="numeric"
          autoComplete="one-time-code"
          required
          withAsterisk={false}
        />
        <Button type="submit" loading={submit.isBusy}>
          Turn on
        </Button>
      </Stack>
    </form>
  );
}

/** A QR code, rendered in the browser because it contains a secret. */
function QrCode({ value, label }: { value: string; label: string }) {
  const { data, size } = encode(value, { ecc: "M", border: 3 });
  const squares = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : [])));
  return (
    <svg
      className={classes.root}
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={label}
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} fill="#ffffff" />
      <path d={squares.join("")} fill="#000000" />
    </svg>
  );
}
