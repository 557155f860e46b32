/** Requires users to set up two-factor authentication before they can open any other page. */
import { Button, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { Toasts } from "../../app/interaction/toasts.tsx";
import { useOptionalSession } from "../../app/session/session.ts";
import { signOut } from "../../app/session/sign-out.ts";
import { PageHeader } from "../../components/layout/page-header.tsx";
import { TwoFactorSetup } from "./two-factor-setup.tsx";

export function TwoFactorRequiredPage() {
  const session = useOptionalSession();
  const [isOpen, setIsOpen] = useState(false);
  // Null for a moment after the session ended, before the router redirects to the sign-in page.
  if (!session) return null;
  return (
    <>
      <PageHeader title="Set up two-factor authentication" />
      <Stack>
        <Text>
          Your account requires two-factor authentication: a code from your authenticator app as well as your
          password. Set it up to continue.
        </Text>
        {/* The route's guard then redirects to the requested page. */}
        <Button fullWidth onClick={() => setIsOpen(true)}>
          Set up{" "}
        </Button>
        <Text fz="sm" ta="center" c="dimmed" style={{ overflowWrap: "anywhere" }}>
          You are signed in as {session.user.email}.
        </Text>
        <Button variant="default" fullWidth onClick={() => void signOut()}>
          Sign out
        </Button>
      </Stack>
      <Toasts />
      <TwoFactorSetup opened={isOpen} onClose={() => setIsOpen(false)} />
    </>
  );
}
