/** Data loaders of one operation: loads requested in the same tick share one SQL statement. */
import DataLoader from "dataloader";
import {
  accountRequestNotes,
  accountRequestsByIds,
  accountRequestWarnings,
  countMembersByOrganization,
} from "../../accounts/api.ts";
import { keysByIds, toApiKeyView } from "../../api-keys/api.ts";
import { listAuditEntries } from "../../audit/api.ts";
import { findEventsById, type HistoryPage, type HistoryRequest, readHistories } from "../../events/api.ts";
import { findJobsById, findOrganizationsById, type JobStatusCode } from "../../jobs/api.ts";
import { organizationsByIds } from "../../organizations/api.ts";
import { activitiesOf, numbersOf } from "../../partners/api.ts";
import { toTypedId, type IdPrefix } from "../../core/ids.ts";
import { alignByKey } from "../../core/postgres/align-by-key.ts";
import type { Reader } from "../../core/postgres/database.ts";
import {
  attemptsByDelivery,
  findAttemptsById,
  findDeliveriesById,
  lastAttempts,
  newestAttempts,
  requestBodiesOf,
} from "../../webhooks/api.ts";
import { isSessionPrincipal, memberGroupOf, type AuthenticatedPrincipal } from "./authenticated-principal.ts";
import type { GraphqlServices } from "./services.ts";
import {
  toAccountRequestNode,
  toAuditEntryNode,
  toInvitationNode,
  toJobEventNode,
  toJobNode,
  toOrganizationNode,
  toSavedViewNode,
  toUserNode,
} from "./nodes.ts";

interface Source {
  readonly principal: AuthenticatedPrincipal;
  readonly database: Reader;
  readonly services: GraphqlServices;
}

type Load<Value> = (source: Source, ids: readonly string[]) => Promise<readonly Value[]>;

/**
 * Each returns the values in the order of the UUIDs, with null for rows that do not exist or that the principal may not see. Callers
 * check the access first: `node` for every type, other fields by their parent.
 */
const loads = {
  jobs: async ({ principal, database }, ids) =>
    (await findJobsById(database, principal, ids)).map((row) => row && toJobNode(row)),
  organizations: async ({ principal, database }, ids) =>
    (await findOrganizationsById(database, principal, ids)).map((row) => row && toOrganizationNode(row)),
  events: async ({ principal, database }, ids) =>
    (await findEventsById(database, principal, ids)).map((row) => row && toJobEventNode(row, principal)),
  apiKeys: async ({ principal, database }, ids) =>
    alignToIds("key", ids, (await keysByIds(database, principal, ids)).map(toApiKeyView)),
  endpoints: async ({ services, principal, database }, ids) =>
    alignToIds("whe", ids, await services.endpoints.findByIds(principal, ids, database)),
  deliveries: async ({ principal, database }, ids) =>
    alignToIds("dlv", ids, await findDeliveriesById(database, principal, ids)),
  attempts: async ({ principal, database }, ids) =>
    alignToIds("att", ids, await findAttemptsById(database, principal, ids)),
  deliveryAttempts: async ({ principal, database }, ids) =>
    alignToMap(ids, await attemptsByDelivery(database, principal, ids), []),
  lastAttempts: async ({ principal, database }, ids) =>
    alignToMap(ids, await lastAttempts(database, principal, ids), null),
  endpointAttempts: async ({ principal, database }, ids) =>
    alignToMap(ids, await newestAttempts(database, principal, ids), []),
  endpointHealth: async ({ services, principal, database }, ids) =>
    alignToMap(ids, await services.deliveries.health(principal, ids, database), null),
  requestBodies: async ({ principal, database }, ids) =>
    alignToMap(ids, await requestBodiesOf(database, principal, ids), null),
  users: async ({ services, principal, database }, ids) => {
    const users = await services.members.getMany(memberGroupOf(principal), ids, database);
    return alignToIds("usr", ids, users.map(toUserNode));
  },
  accountRequests: async ({ database }, ids) =>
    alignToIds("arq", ids, (await accountRequestsByIds(database, ids)).map(toAccountRequestNode)),
  auditEntries: async ({ principal, database }, ids) => {
    const page = { ids, limit: ids.length, after: null };
    const { items } = await listAuditEntries(database, principal, page);
    return alignToIds("aud", ids, items.map(toAuditEntryNode));
  },
  mails: async ({ services, database }, ids) => {
    const page = { ids, limit: ids.length, after: null };
    return alignToIds("eml", ids, (await services.mails.list(database, page)).items);
  },
  /** Of at most 100 pending ones. */
  invitations: async ({ services, principal, database }, ids) =>
    alignToIds("inv", ids, (await services.invitations.list(principal, database)).map(toInvitationNode)),
  /** Of at most 50 of a user, and 50 shared ones. */
  savedViews: async ({ services, principal, database }, ids) => {
    const views = isSessionPrincipal(principal) ? await services.views.list(principal, database) : [];
    return alignToIds("viw", ids, views.map(toSavedViewNode));
  },
  // These do not check access: resolvers must check it first, or load the account request.
  organizationSummaries: async ({ database }, ids) => {
    const [organizations, counts] = await Promise.all([
      organizationsByIds(database, ids),
      countMembersByOrganization(database, ids),
    ]);
    const summaries = organizations.map(({ createdAt, suspendedAt, liveOrganization, ...organization }) => ({
      ...organization,
      isTest: liveOrganization !== null,
      createdAt: createdAt.toISOString(),
      suspendedAt: suspendedAt?.toISOString() ?? null,
      memberCount: counts.get(organization.id) ?? 0,
    }));
    return alignByKey(ids, summaries, ({ id }) => id);
  },
  organizationActivities: async ({ database }, ids) =>
    alignByKey(ids, await activitiesOf(database, ids), ({ id }) => id),
  organizationNumbers: ({ database }, ids) => Promise.all(ids.map((id) => numbersOf(database, id))),
  accountRequestNotes: async ({ database }, ids) =>
    alignToMap(ids, await accountRequestNotes(database, ids), []),
  accountRequestWarnings: async ({ database }, ids) =>
    alignToMap(ids, await accountRequestWarnings(database, ids), []),
} satisfies Record<string, Load<unknown>>;

export type LoaderName = keyof typeof loads;

type Loaded<Name extends LoaderName> = Awaited<ReturnType<(typeof loads)[Name]>>[number];

/** Loads by UUID. Creates each data loader when it is first used: most operations use few. */
export class Loaders {
  readonly #source: Source;
  readonly #loaders = new Map<string, DataLoader<string, unknown>>();
  #statuses: Promise<ReadonlyMap<string, JobStatusCode>> | null = null;

  constructor(source: Source) {
    this.#source = source;
  }

  load<Name extends LoaderName>(name: Name, uuid: string): Promise<Loaded<Name>> {
    return this.#loaderOf<Loaded<Name>>(name, loads[name]).load(uuid);
  }

  /** One page of a job's history. Jobs with the same page request share one SQL statement. */
  history(jobId: string, request: HistoryRequest): Promise<HistoryPage> {
    const load: Load<HistoryPage> = ({ principal, database }, jobIds) =>
      readHistories(database, principal, { jobIds, request });
    return this.#loaderOf(`history ${JSON.stringify(request)}`, load).load(jobId);
  }

  statuses(): Promise<ReadonlyMap<string, JobStatusCode>> {
    const { services, database } = this.#source;
    return (this.#statuses ??= services.referenceData
      .statuses(database)
      .then((rows) => new Map(rows.map((row) => [row.code, row]))));
  }

  #loaderOf<Value>(key: string, load: Load<Value>): DataLoader<string, Value> {
    const existing = this.#loaders.get(key);
    if (existing) return existing as DataLoader<string, Value>;
    const loader = new DataLoader<string, Value>((ids) => load(this.#source, ids), { maxBatchSize: 1_000 });
    this.#loaders.set(key, loader);
    return loader;
  }
}

function alignToMap<Value, None>(
  ids: readonly string[],
  values: ReadonlyMap<string, Value>,
  none: None,
): (Value | None)[] {
  return ids.map((id) => values.get(id) ?? none);
}

/** Returns the nodes in the order of `ids` (UUIDs; nodes have typed IDs), with null for missing ones. */
function alignToIds<Node extends { readonly id: string }>(
  prefix: IdPrefix,
  ids: readonly string[],
  nodes: readonly Node[],
): (Node | null)[] {
  const typed = ids.map((id) => toTypedId(prefix, id));
  return alignByKey(typed, nodes, (node) => node.id);
}
