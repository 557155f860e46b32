/** Finds endpoints with the entity manager, limited to what the principal can see. Deleted endpoints are not found. */
import { LockMode, raw, type EntityManager, type FilterQuery, type FindOptions } from "@mikro-orm/postgresql";
import type { Clock } from "../../core/clock.ts";
import type { Reader } from "../../core/postgres/database.ts";
import { AppError } from "../../core/errors.ts";
import { fromTypedId } from "../../core/ids.ts";
import type { SecretBox } from "../../core/secret-box.ts";
import { countPending } from "../deliveries/queue-stats.sql.ts";
import { systemPrincipal, type WebhookPrincipal } from "../webhook-principal.ts";
import { WebhookEndpoint } from "./entity.ts";
import { toEndpointView, type EndpointView, type LoadedEndpoint } from "./view.ts";

export interface EndpointReadDeps {
  database: Reader;
  secretBox: Pick<SecretBox, "open">;
  clock: Clock;
}

type FindEndpoints = FindOptions<WebhookEndpoint, "organization">;

/** The visible endpoints that match `where`, with their pending deliveries. By default the oldest is first. */
export async function findEndpoints(
  { database, secretBox, clock }: EndpointReadDeps,
  principal: WebhookPrincipal,
  { where, ...options }: Pick<FindEndpoints, "orderBy" | "limit"> & { where: FilterQuery<WebhookEndpoint> },
): Promise<EndpointView[]> {
  const endpoints = await forPrincipal(database.em(), principal).find(WebhookEndpoint, where, {
    orderBy: { createdAt: "asc", id: "asc" },
    ...options,
    populate: ["organization"],
  });
  const ids = endpoints.map(({ id }) => id);
  const pending = ids.length === 0 ? new Map<string, number>() : await countPending(database, ids);
  return endpoints.map((endpoint) =>
    toEndpointView(endpoint, { secretBox, pending: pending.get(endpoint.id) ?? 0, nowMs: clock.now() }),
  );
}

const MAX_FAILING = 100;

/** Disabled and failing endpoints of all live organisations, for operators. Longest failing first, at most 100. */
export function findFailingEndpoints(deps: EndpointReadDeps): Promise<EndpointView[]> {
  const since = raw((alias) => `coalesce(${alias}.failing_since, ${alias}.status_since)`);
  return findEndpoints(deps, systemPrincipal, {
    where: {
      organization: { liveOrganization: null },
      $or: [{ status: "disabled" }, { status: "active", failingSince: { $ne: null } }],
    },
    orderBy: [{ [since]: "asc" }, { id: "asc" }],
    limit: MAX_FAILING,
  });
}

/** `id` is a typed id. Throws NotFoundException. */
export async function getEndpoint(
  database: Reader,
  principal: WebhookPrincipal,
  id: string,
): Promise<LoadedEndpoint> {
  const em = forPrincipal(database.em(), principal);
  const uuid = fromTypedId("whe", id);
  const endpoint =
    uuid === null ? null : await em.findOne(WebhookEndpoint, uuid, { populate: ["organization"] });
  return endpoint ?? notFound();
}

/** Locks the endpoint until the transaction of `em` ends. `id` is a typed id. Throws NotFoundException. */
export async function lockEndpoint(
  em: EntityManager,
  principal: WebhookPrincipal,
  id: string,
): Promise<WebhookEndpoint> {
  const uuid = fromTypedId("whe", id);
  if (uuid === null) return notFound();
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  return (await forPrincipal(em, principal).findOne(WebhookEndpoint, uuid, { lockMode })) ?? notFound();
}

/** Limits the endpoints that `em` finds to those of the principal. Returns `em`. */
export function forPrincipal(em: EntityManager, { organizationId }: WebhookPrincipal): EntityManager {
  em.setFilterParams("endpointVisibility", { organizationId });
  return em;
}

export function notFound(): never {
  throw new AppError("NotFoundException", "There is no such webhook endpoint", { resource: "endpoint" });
}
