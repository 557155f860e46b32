/** Reading endpoints, each read bounded to what the caller may see. */
import type { Clock } from "../platform/clock.ts";
import type { Queryable } from "../platform/database.ts";
import { AppError } from "../platform/errors.ts";
import { fromTypedId } from "../platform/ids.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import { sql } from "../platform/sql.ts";
import { ownedBy, type Caller } from "./caller.ts";
import { openHeaders, openSecrets } from "./endpoint.secrets.ts";
import { endpointColumns, toEndpointView, type EndpointRow, type EndpointView } from "./endpoint.view.ts";

export interface ReadParts {
  database: Queryable;
  box: Pick<SecretBox, "open">;
  clock: Clock;
}

export interface FoundEndpoint {
  row: EndpointRow;
  view: EndpointView;
}

export async function listEndpoints(
  parts: ReadParts,
  caller: Caller,
  organizationId?: string,
): Promise<EndpointView[]> {
  const only =
    organizationId === undefined ? sql`` : sql`and endpoint.organization_id = ${organizationId}::uuid`;
  const rows = await parts.database.query<EndpointRow>(sql`
    select ${endpointColumns} from webhook_endpoint endpoint
      join organization on organization.id = endpoint.organization_id
    where ${ownedBy(caller)} and endpoint.deleted_at is null ${only}
    order by endpoint.created_at, endpoint.id`);
  return rows.map((row) => viewOf(parts, row));
}

/** As many as somebody can look after. */
const MAX_IN_TROUBLE = 100;

/** Those that are disabled, or fail, of all organisations: for operators. The longest trouble first. */
export async function endpointsInTrouble(parts: ReadParts): Promise<EndpointView[]> {
  const rows = await parts.database.query<EndpointRow>(sql`
    select ${endpointColumns} from webhook_endpoint endpoint
      join organization on organization.id = endpoint.organization_id
    where endpoint.deleted_at is null
      and (endpoint.status = 'disabled' or endpoint.status = 'active' and endpoint.failing_since is not null)
    order by coalesce(endpoint.failing_since, endpoint.status_since), endpoint.id limit ${MAX_IN_TROUBLE}::int`);
  return rows.map((row) => viewOf(parts, row));
}

/** `id`: typed. Null where there is none that the caller may see. */
export async function findEndpoint(
  parts: ReadParts,
  caller: Caller,
  id: string,
): Promise<FoundEndpoint | null> {
  const uuid = fromTypedId("whe", id);
  if (uuid === null) return null;
  const [row] = await parts.database.query<EndpointRow>(sql`
    select ${endpointColumns} from webhook_endpoint endpoint
      join organization on organization.id = endpoint.organization_id
    where endpoint.id = ${uuid} and ${ownedBy(caller)} and endpoint.deleted_at is null`);
  return row ? { row, view: viewOf(parts, row) } : null;
}

/** Those of `ids` (uuids) that the caller may see, in no particular order. */
export async function endpointsById(
  parts: ReadParts,
  caller: Caller,
  ids: readonly string[],
): Promise<EndpointView[]> {
  const rows = await parts.database.query<EndpointRow>(sql`
    select ${endpointColumns} from webhook_endpoint endpoint
      join organization on organization.id = endpoint.organization_id
    where endpoint.id = any(${ids}::uuid[]) and ${ownedBy(caller)} and endpoint.deleted_at is null`);
  return rows.map((row) => viewOf(parts, row));
}

export async function getEndpoint(parts: ReadParts, caller: Caller, id: string): Promise<FoundEndpoint> {
  const found = await findEndpoint(parts, caller, id);
  if (!found) throw new AppError("NotFoundException", "There is no such webhook endpoint");
  return found;
}

/** One whose secrets cannot be read is shown all the same, with what is wrong. */
function viewOf({ box, clock }: ReadParts, row: EndpointRow): EndpointView {
  const nowMs = clock.now();
  try {
    openSecrets(box, row.id, { secrets: row.secrets, nowMs });
    return toEndpointView(row, {
      headers: openHeaders(box, row.id, row.sealed_headers),
      problem: null,
      nowMs,
    });
  } catch (error) {
    return toEndpointView(row, { headers: {}, problem: (error as Error).message, nowMs });
  }
}
