/** Requires users to set up two-factor authentication before they can open any other page. */
import { Button, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { Toasts } from "../../app/interaction/toasts.tsx";
import { supportsPasskeys } from "../../app/session/passkeys.ts";
import { useOptionalSession, useSessionStore } from "../../app/session/session.ts";
import { signOut } from "../../app/session/sign-out.ts";
import { PasskeyButton } from "../../components/forms/passkey-button.tsx";
import { PageHeader } from "../../components/layout/page-header.tsx";
import { AddPasskeyDialog } from "./passkey-name.form.tsx";
import { TwoFactorSetup } from "./two-factor-setup.tsx";

export function TwoFactorRequiredPage() {
  const session = useOptionalSession();
  const store = useSessionStore();
  const [isOpen, setIsOpen] = useState(false);
  const [isAdding, setAdding] = useState(false);
  // Null for a moment after the session ended, before the router redirects to the sign-in page.
  if (!session) return null;
  return (
    <>
      <PageHeader
        title={session.user.has_passkeys ? "Use your passkey" : "Set up two-factor authentication"}
      />
      <Stack>
        {/* The route's guard then redirects to the requested page. */}
        {session.user.has_passkeys ? (
          <>
            <Text>Your account requires more than your password. It may be on another device.</Text>
            <PasskeyButton label="Continue with your passkey" isSignedIn onDone={store.load} />
          </>
        ) : (
          <>
            <Text>
              Your account requires two-factor authentication: a code from your authenticator app as well as
              your password, or a passkey. Set it up to continue.
            </Text>
            <Button fullWidth onClick={() => setIsOpen(true)}>
              Set up{" "}
            </Button>
            {supportsPasskeys() && (
              <Button variant="default" fullWidth onClick={() => setAdding(true)}>
                Add a passkey instead
              </Button>
            )}
          </>
        )}
        <Text fz="sm" ta="center" c="dimmed" style={{ overflowWrap: "anywhere" }}>
          You are signed in as {session.user.email}.
        </Text>
        <Button variant="default" fullWidth onClick={() => void signOut()}>
          Sign out
        </Button>
      </Stack>
      <Toasts />
      <AddPasskeyDialog opened={isAdding} onClose={() => setAdding(false)} />
      <TwoFactorSetup opened={isOpen} onClose={() => setIsOpen(false)} />
    </>
  );
}
