/** Reading endpoints, each read bounded to what the caller may see. */
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

/** As many as somebody can look after. */
const MAX_FAILING = 100;

/** Those that are disabled, or fail, of all organisations: for operators. The longest trouble first. */
export async function listFailingEndpoints(deps: EndpointReadDeps): Promise<EndpointView[]> {
  const rows = await deps.database.query<EndpointRow>(sql`
    select ${endpointColumns} from webhook_endpoint endpoint
      join organization on organization.id = endpoint.organization_id
    where endpoint.deleted_at is null
      and (endpoint.status = 'disabled' or endpoint.status = 'active' and endpoint.failing_since is not null)
    order by coalesce(endpoint.failing_since, endpoint.status_since), endpoint.id limit ${MAX_FAILING}::int`);
  return rows.map((row) => toView(deps, row));
}

/** `id`: typed. Null where there is none that the caller may see. */
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

/** Those of `ids` (uuids) that the caller may see, in no particular order. */
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

/** One whose secrets cannot be read is shown all the same, with what is wrong. */
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
