/** The signing secret of an endpoint: its age, revealing it with a password, and rotating it. */
import { useMutation } from "@apollo/client/react";
import { Button, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { useDialog } from "../../../../app/interaction/use-dialog.ts";
import { payloadOrThrow } from "../../../../app/api/user-errors.ts";
import { CodeBlock } from "../../../../components/display/code-block.tsx";
import { DescriptionList } from "../../../../components/display/description-list.tsx";
import { PasswordDialog } from "../../../../components/dialogs/password-dialog.tsx";
import { Timestamp } from "../../../../components/display/timestamp.tsx";
import {
  RevealWebhookSecretDocument,
  type EndpointDetailsFragment,
} from "../../../../generated/webhook-endpoint.ts";
import { Panel } from "../../../../components/layout/panel.tsx";
import { RotateSecretDialog } from "./rotate.dialog.tsx";

type Endpoint = EndpointDetailsFragment;

export function EndpointSecretPanel({ endpoint }: { endpoint: Endpoint }) {
  const [secret, setSecret] = useState<string | null>(null);
  const [isRevealing, revealing] = useDisclosure(false);
  const rotating = useDialog<Endpoint>();
  const rotate = (): void => {
    setSecret(null);
    rotating.open(endpoint);
  };
  return (
    <Panel title="Signing secret">
      <Stack>
        <SecretDetails endpoint={endpoint} />
        {secret !== null && <CodeBlock code={secret} label="secret" wrap />}
        <Group gap="xs">
          {secret === null ? (
            <Button variant="default" size="xs" onClick={revealing.open}>
              Show secret{" "}
            </Button>
          ) : (
            <Button variant="default" size="xs" onClick={() => setSecret(null)}>
              Hide secret
            </Button>
          )}
          <Button variant="default" size="xs" onClick={rotate}>
            Rotate…
          </Button>
        </Group>
      </Stack>
      <RevealSecretDialog
        endpointId={endpoint.id}
        opened={isRevealing}
        onClose={revealing.close}
        onSecret={setSecret}
      />
      <RotateSecretDialog dialog={rotating} />
    </Panel>
  );
}

function SecretDetails({ endpoint: { secretCreatedAt, previousSecretsExpireAt } }: { endpoint: Endpoint }) {
  const previousSecrets = previousSecretsExpireAt.map((until) => ({
    label: "Previous secret",
    value: (
      <>
        also signs until <Timestamp value={until} display="exact" />
      </>
    ),
  }));
  return (
    <DescriptionList
      items={[
        { label: "Created", value: <Timestamp value={secretCreatedAt} display="exact" /> },
        ...previousSecrets,
      ]}
    />
  );
}

interface RevealDialogProps {
  endpointId: string;
  opened: boolean;
  onClose: () => void;
  onSecret: (secret: string) => void;
}

function RevealSecretDialog({ endpointId, opened, onClose, onSecret }: RevealDialogProps) {
  const [reveal] = useMutation(RevealWebhookSecretDocument, { fetchPolicy: "no-cache" });
  const submit = async (password: string): Promise<void> => {
    const { data } = await reveal({ variables: { id: endpointId, password } });
    const { secret } = payloadOrThrow(data?.revealWebhookSecret);
    if (secret !== null) onSecret(secret);
    onClose();
  };
  return (
    <PasswordDialog
      opened={opened}
      onClose={onClose}
      title="Show signing secret"
      action="Show secret"
      onPassword={submit}
    >
      <Text>
        Anyone with this secret can send your receiver requests that look like ours. The audit log records
        that you viewed it.
      </Text>
    </PasswordDialog>
  );
}
