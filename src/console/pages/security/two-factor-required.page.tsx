/** The one page that is open to who must have a second step and has none. */
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
  // For the moment between a session's end and the way to the sign-in page there is nobody.
  if (!session) return null;
  return (
    <>
      <PageHeader title="One more step" />
      <Stack>
        <Text>
          Your account needs a second step: a code of an authenticator app, beside your password. Turn it on
          to go on.
        </Text>
        {/* Once it is on, the route's guard takes it from here: to where the person was going. */}
        <Button fullWidth onClick={() => setIsOpen(true)}>
          Turn it on
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
