/** Queries for endpoints, limited to what the principal can see. */
import type { Clock } from "../../platform/clock.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import { AppError } from "../../platform/errors.ts";
import { fromTypedId } from "../../platform/ids.ts";
import type { SecretBox } from "../../platform/secret-box.ts";
import { sql } from "../../platform/postgres/sql.ts";
import { tenantFilter, type WebhookPrincipal } from "../tenant-scope.ts";
import { openHeaders, openSecrets } from "../signing/secrets.ts";
import { endpointColumns, toEndpointView, type EndpointRow, type EndpointView } from "./view.ts";

export interface EndpointReadDeps {
  database: Queryable;
  secretBox: Pick<SecretBox, "open">;
  clock: Clock;
}

export interface FoundEndpoint {
  row: EndpointRow;
  view: EndpointView;
}

export async function listEndpoints(
  deps: EndpointReadDeps,
  principal: WebhookPrincipal,
  organizationId?: string,
): Promise<EndpointView[]> {
  const organizationFilter =
    organizationId === undefined ? sql`` : sql`and endpoint.organization_id = ${organizationId}::uuid`;
  const rows = await deps.database.query<EndpointRow>(sql`
    select ${endpointColumns} from webhook_endpoint endpoint
      join organization on organization.id = endpoint.organization_id
    where ${tenantFilter(principal)} and endpoint.deleted_at is null ${organizationFilter}
    order by endpoint.created_at, endpoint.id`);
  return rows.map((row) => toView(deps, row));
}

const MAX_FAILING = 100;

/** Disabled and failing endpoints of all organisations, for operators. Longest failing first, at most 100. */
export async function listFailingEndpoints(deps: EndpointReadDeps): Promise<EndpointView[]> {
  const rows = await deps.database.query<EndpointRow>(sql`
    select ${endpointColumns} from webhook_endpoint endpoint
      join organization on organization.id = endpoint.organization_id
    where endpoint.deleted_at is null
      and (endpoint.status = 'disabled' or endpoint.status = 'active' and endpoint.failing_since is not null)
    order by coalesce(endpoint.failing_since, endpoint.status_since), endpoint.id limit ${MAX_FAILING}::int`);
  return rows.map((row) => toView(deps, row));
}

/** `id` is a typed id. Returns null if the endpoint does not exist, is deleted or is not visible. */
export async function findEndpoint(
  deps: EndpointReadDeps,
  principal: WebhookPrincipal,
  id: string,
): Promise<FoundEndpoint | null> {
  const uuid = fromTypedId("whe", id);
  if (uuid === null) return null;
  const [row] = await deps.database.query<EndpointRow>(sql`
    select ${endpointColumns} from webhook_endpoint endpoint
      join organization on organization.id = endpoint.organization_id
    where endpoint.id = ${uuid} and ${tenantFilter(principal)} and endpoint.deleted_at is null`);
  return row ? { row, view: toView(deps, row) } : null;
}

/** The endpoints with these ids (UUIDs) that the principal can see, in no particular order. */
export async function findEndpointsById(
  deps: EndpointReadDeps,
  principal: WebhookPrincipal,
  ids: readonly string[],
): Promise<EndpointView[]> {
  const rows = await deps.database.query<EndpointRow>(sql`
    select ${endpointColumns} from webhook_endpoint endpoint
      join organization on organization.id = endpoint.organization_id
    where endpoint.id = any(${ids}::uuid[]) and ${tenantFilter(principal)} and endpoint.deleted_at is null`);
  return rows.map((row) => toView(deps, row));
}

export async function getEndpoint(
  deps: EndpointReadDeps,
  principal: WebhookPrincipal,
  id: string,
): Promise<FoundEndpoint> {
  const endpoint = await findEndpoint(deps, principal, id);
  if (!endpoint) throw new AppError("NotFoundException", "There is no such webhook endpoint");
  return endpoint;
}

/** If secrets or headers cannot be decrypted, the view has the reason in `problem`. */
function toView({ secretBox, clock }: EndpointReadDeps, row: EndpointRow): EndpointView {
  const nowMs = clock.now();
  try {
    openSecrets(secretBox, row.id, { secrets: row.secrets, nowMs });
    return toEndpointView(row, {
      headers: openHeaders(secretBox, row.id, row.sealed_headers),
      problem: null,
      nowMs,
    });
  } catch (error) {
    return toEndpointView(row, { headers: {}, problem: (error as Error).message, nowMs });
  }
}
