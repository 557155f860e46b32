/** The organisation's API keys: active keys, then revoked and expired ones. */
import { useQuery } from "@apollo/client/react";
import { Button, Stack, Title } from "@mantine/core";
import { IconKey, IconPlus } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { isInactive } from "../../../app/created-keys.ts";
import { useMode } from "../../../app/session/session.ts";
import { usePageAction } from "../../../app/interaction/page-actions.ts";
import { useDialog } from "../../../app/interaction/use-dialog.ts";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { EmptyState, ErrorState, LoadingState } from "../../../components/status/page-states.tsx";
import { useNow } from "../../../app/clock.ts";
import { ApiKeysDocument, type ApiKeyRowFragment } from "../../../generated/api-keys.ts";
import { ListedModeControl } from "../listed-mode.control.tsx";
import { listedMode } from "../listed-mode.ts";
import { CreateKeyDialog } from "./create-key.dialog.tsx";
import { InactiveKeysTable, KeysTable } from "./keys.table.tsx";
import { RevokeKeyDialog } from "./revoke-key.dialog.tsx";
import { RotateKeyDialog } from "./rotate-key.dialog.tsx";

const route = getRouteApi("/console/integrations/keys");

export function KeysPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const variables = { mode: listedMode(search) };
  const { data, error, refetch } = useQuery(ApiKeysDocument, { variables });
  const creating = useDialog<true>();
  usePageAction("create-key", () => creating.open(true));
  const isTest = useMode() === "test";
  const create = (
    <Button leftSection={<IconPlus size={16} aria-hidden="true" />} onClick={() => creating.open(true)}>
      {isTest ? "Create test key" : "Create API key"}
    </Button>
  );
  return (
    <>
      <PageHeader
        title="API keys"
        description={
          isTest
            ? "Test keys see and change only test data."
            : "Use a separate key for each integration so you can revoke one without affecting the others."
        }
        actions={
          <>
            <ListedModeControl
              search={search}
              onChange={(mode) => void navigate({ search: mode, replace: true })}
            />
            {create}
          </>
        }
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
  const activeKeys = newestFirst.filter((key) => !isInactive(key, nowMs));
  const inactiveKeys = newestFirst.filter((key) => isInactive(key, nowMs));
  return (
    <Stack gap="xl">
      {activeKeys.length === 0 ? (
        <EmptyState icon={IconKey} title="No API keys yet" action={create}>
          Create a key and try it with the example request that comes with it.
        </EmptyState>
      ) : (
        <KeysTable keys={activeKeys} onRotate={rotating.open} onRevoke={revoking.open} />
      )}
      {inactiveKeys.length > 0 && (
        <Stack component="section" gap="sm" aria-labelledby="inactive-keys">
          <Title order={2} id="inactive-keys">
            Inactive keys
          </Title>
          <InactiveKeysTable keys={inactiveKeys} />
        </Stack>
      )}
      <RotateKeyDialog dialog={rotating} />
      <RevokeKeyDialog dialog={revoking} keys={keys} />
    </Stack>
  );
}
