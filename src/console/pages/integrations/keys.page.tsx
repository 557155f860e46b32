/** The organisation's API keys: those that are good, and apart from them those that have ended. */
import { useQuery } from "@apollo/client/react";
import { Button, Stack, Title } from "@mantine/core";
import { IconKey, IconPlus } from "@tabler/icons-react";
import { hasEnded } from "../../app/created-keys.ts";
import { useDialog } from "../../app/use-dialog.ts";
import { PageHeader } from "../../components/page-header.tsx";
import { EmptyState, ErrorState, LoadingState } from "../../components/states.tsx";
import { useNow } from "../../components/timestamp.tsx";
import { ApiKeysDocument, type ApiKeyRowFragment } from "../../generated/api-keys.ts";
import { CreateKeyDialog } from "./create-key.dialog.tsx";
import { EndedKeyTable, KeyTable } from "./key-table.tsx";
import { RevokeKeyDialog } from "./revoke-key.dialog.tsx";
import { RotateKeyDialog } from "./rotate-key.dialog.tsx";

export function KeysPage() {
  const { data, error, refetch } = useQuery(ApiKeysDocument);
  const creating = useDialog<true>();
  const create = (
    <Button leftSection={<IconPlus size={16} aria-hidden="true" />} onClick={() => creating.open(true)}>
      Create API key
    </Button>
  );
  return (
    <>
      <PageHeader
        title="API keys"
        description="A program shows its key with each request. Give each program a key of its own: then each can be ended without the others."
        actions={create}
      />
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !data && <LoadingState label="Loading API keys" />}
      {data && <KeyLists keys={data.apiKeys ?? []} create={create} />}
      <CreateKeyDialog dialog={creating} />
    </>
  );
}

function KeyLists({ keys, create }: { keys: readonly ApiKeyRowFragment[]; create: React.ReactNode }) {
  const rotating = useDialog<ApiKeyRowFragment>();
  const revoking = useDialog<ApiKeyRowFragment>();
  const newestFirst = keys.toReversed();
  const nowMs = useNow();
  const good = newestFirst.filter((key) => !hasEnded(key, nowMs));
  const ended = newestFirst.filter((key) => hasEnded(key, nowMs));
  return (
    <Stack gap="xl">
      {good.length === 0 ? (
        <EmptyState icon={IconKey} title="No API key yet" action={create}>
          Create one, and try it at once: the first request to copy comes with it.
        </EmptyState>
      ) : (
        <KeyTable keys={good} onRotate={rotating.open} onRevoke={revoking.open} />
      )}
      {ended.length > 0 && (
        <Stack component="section" gap="sm" aria-labelledby="ended-keys">
          <Title order={2} id="ended-keys">
            Ended keys
          </Title>
          <EndedKeyTable keys={ended} />
        </Stack>
      )}
      <RotateKeyDialog dialog={rotating} />
      <RevokeKeyDialog dialog={revoking} keys={keys} />
    </Stack>
  );
}
