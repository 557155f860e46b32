/** The secret of an endpoint: how old it is, shown to who enters their password again, and changed for another. */
import { useMutation } from "@apollo/client/react";
import { Button, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { useDialog } from "../../app/use-dialog.ts";
import { accepted } from "../../app/user-errors.ts";
import { CodeBlock } from "../../components/code-block.tsx";
import { FactList } from "../../components/fact-list.tsx";
import { PasswordDialog } from "../../components/password-dialog.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import {
  RevealWebhookSecretDocument,
  type EndpointDetailsFragment,
} from "../../generated/webhook-endpoint.ts";
import { Panel } from "./panel.tsx";
import { RotateSecretDialog } from "./rotate-secret.dialog.tsx";

type Endpoint = EndpointDetailsFragment;

export function EndpointSecret({ endpoint }: { endpoint: Endpoint }) {
  const [secret, setSecret] = useState<string | null>(null);
  const [isAsking, asking] = useDisclosure(false);
  const rotating = useDialog<Endpoint>();
  const rotate = (): void => {
    setSecret(null);
    rotating.open(endpoint);
  };
  return (
    <Panel title="Signing secret">
      <Stack>
        <SecretFacts endpoint={endpoint} />
        {secret !== null && <CodeBlock code={secret} label="secret" wrap />}
        <Group gap="xs">
          {secret === null ? (
            <Button variant="default" size="xs" onClick={asking.open}>
              Show the secret
            </Button>
          ) : (
            <Button variant="default" size="xs" onClick={() => setSecret(null)}>
              Hide the secret
            </Button>
          )}
          <Button variant="default" size="xs" onClick={rotate}>
            Rotate…
          </Button>
        </Group>
      </Stack>
      <RevealDialog endpointId={endpoint.id} opened={isAsking} onClose={asking.close} onSecret={setSecret} />
      <RotateSecretDialog dialog={rotating} />
    </Panel>
  );
}

function SecretFacts({ endpoint: { secretSince, formerSecretsUntil } }: { endpoint: Endpoint }) {
  const former = formerSecretsUntil.map((until) => ({
    label: "Former one",
    value: (
      <>
        signs too, until <Timestamp value={until} display="exact" />
      </>
    ),
  }));
  return (
    <FactList
      facts={[{ label: "Made", value: <Timestamp value={secretSince} display="exact" /> }, ...former]}
    />
  );
}

interface RevealDialogProps {
  endpointId: string;
  opened: boolean;
  onClose: () => void;
  onSecret: (secret: string) => void;
}

function RevealDialog({ endpointId, opened, onClose, onSecret }: RevealDialogProps) {
  const [reveal] = useMutation(RevealWebhookSecretDocument, { fetchPolicy: "no-cache" });
  const ask = async (password: string): Promise<void> => {
    const { data } = await reveal({ variables: { id: endpointId, password } });
    const { secret } = accepted(data?.revealWebhookSecret);
    if (secret !== null) onSecret(secret);
    onClose();
  };
  return (
    <PasswordDialog
      opened={opened}
      onClose={onClose}
      title="Show the secret"
      action="Show the secret"
      onPassword={ask}
    >
      <Text>
        Whoever knows the secret can send your receiver what looks like ours. That you saw it is kept in the
        audit log.
      </Text>
    </PasswordDialog>
  );
}
