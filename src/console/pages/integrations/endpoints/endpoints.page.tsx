/** The webhook endpoints and their health. */
import { useQuery } from "@apollo/client/react";
import { Button } from "@mantine/core";
import { IconPlus, IconWebhook } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { usePageAction } from "../../../app/interaction/page-actions.ts";
import { canVisit } from "../../../app/session/access.ts";
import { useSession } from "../../../app/session/session.ts";
import { useDialog } from "../../../app/interaction/use-dialog.ts";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { EmptyState, ErrorState, LoadingState } from "../../../components/status/page-states.tsx";
import { WebhookEndpointsDocument } from "../../../generated/webhook-endpoints.ts";
import { CreateEndpointDialog } from "./form/create.dialog.tsx";
import { EndpointsTable } from "./endpoints.table.tsx";
import { ListedModeControl } from "../listed-mode.control.tsx";
import { listedMode } from "../listed-mode.ts";
import { pollWhileVisible } from "../polling.ts";

const route = getRouteApi("/console/integrations/endpoints");

export function EndpointsPage() {
  const session = useSession();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data, error, refetch } = useQuery(WebhookEndpointsDocument, {
    variables: { mode: listedMode(search) },
    ...pollWhileVisible(60_000),
  });
  const creating = useDialog<true>();
  usePageAction("create-endpoint", () => creating.open(true));
  const create = canVisit(session, "endpoints") && (
    <Button leftSection={<IconPlus size={16} aria-hidden="true" />} onClick={() => creating.open(true)}>
      Create endpoint
    </Button>
  );
  const endpoints = data?.webhookEndpoints ?? [];
  return (
    <>
      <PageHeader
        title="Webhook endpoints"
        description="Waymark sends every event of your jobs as a signed request to each endpoint that subscribes to it."
        actions={
          create || (
            <ListedModeControl
              search={search}
              onChange={(mode) => void navigate({ search: mode, replace: true })}
            />
          )
        }
      />
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !data && <LoadingState label="Loading endpoints" />}
      {data && endpoints.length === 0 && (
        <EmptyState icon={IconWebhook} title="No endpoints yet" action={create}>
          Enter the URL of your receiver. You get a secret for verifying requests, and can send a test event.
        </EmptyState>
      )}
      {endpoints.length > 0 && (
        <EndpointsTable endpoints={endpoints} showOrganization={session.organization === null} />
      )}
      <CreateEndpointDialog dialog={creating} />
    </>
  );
}
