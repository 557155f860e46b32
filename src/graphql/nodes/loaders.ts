/** Data loaders of one operation: loads requested in the same tick share one SQL statement. */
import type DataLoader from "dataloader";
import {
  countMembersByOrganization,
  type InvitationService,
  type MemberService,
  type SavedViewService,
} from "../../accounts/api.ts";
import { keysByIds } from "../../api-keys/api.ts";
import { findEventsById, historiesOf, type HistoryRequest, type HistoryRows } from "../../events/api.ts";
import { findJobsById, findOrganizationsById, type JobReferenceData } from "../../jobs/api.ts";
import type { MailService } from "../../mail/api.ts";
import { organizationStatuses } from "../../organizations/api.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import { invariant } from "../../platform/errors.ts";
import { alignByKey } from "../../platform/postgres/align-by-key.ts";
import { toIsoTime } from "../../platform/time.ts";
import {
  attemptsByDelivery,
  type EndpointService,
  findAttemptsById,
  findDeliveriesById,
  requestBodiesOf,
} from "../../webhooks/api.ts";
import type { AuthenticatedPrincipal } from "../principal.ts";
import { createLoader, alignToIds } from "./create-loader.ts";
import { createConsoleLoaders, type ConsoleLoaders } from "./console-loaders.ts";
import { createAccountLoaders, type AccountLoaders } from "./account-loaders.ts";
import { toApiKeyNode, type ApiKeyNode } from "./api-key.node.ts";
import { toJobEventNode, type JobEventNode } from "./event.node.ts";
import { toJobNode, type JobNode } from "./job.node.ts";
import { toOrganizationNode, type OrganizationNode } from "./organization.node.ts";
import { toJobStatusNode, type JobStatusNode } from "./status.node.ts";
import {
  toAttemptNode,
  toDeliveryNode,
  toEndpointNode,
  type AttemptNode,
  type DeliveryNode,
  type EndpointNode,
} from "./webhook.node.ts";

export interface OrganizationSummary {
  readonly createdAt: string;
  readonly suspendedAt: string | null;
  readonly memberCount: number;
}

/** Loaders by UUID. They return null for rows that do not exist or that the principal may not see. */
export interface Loaders extends AccountLoaders, ConsoleLoaders {
  readonly jobs: DataLoader<string, JobNode | null>;
  readonly organizations: DataLoader<string, OrganizationNode | null>;
  /** Does not check access: resolvers must check it first. */
  readonly organizationSummaries: DataLoader<string, OrganizationSummary | null>;
  readonly events: DataLoader<string, JobEventNode | null>;
  readonly apiKeys: DataLoader<string, ApiKeyNode | null>;
  readonly endpoints: DataLoader<string, EndpointNode | null>;
  readonly deliveries: DataLoader<string, DeliveryNode | null>;
  readonly attempts: DataLoader<string, AttemptNode | null>;
  /** By delivery UUID. */
  readonly deliveryAttempts: DataLoader<string, AttemptNode[]>;
  /** By delivery UUID. */
  readonly requestBodies: DataLoader<string, string | null>;
  /** One page of a job's history. Jobs with the same page request share one SQL statement. */
  history(jobId: string, page: HistoryRequest): Promise<HistoryRows>;
  /** All job statuses by code. */
  statuses(): Promise<ReadonlyMap<string, JobStatusNode>>;
}

interface LoaderRequest {
  readonly principal: AuthenticatedPrincipal | null;
  readonly database: Queryable;
}

interface LoaderServices {
  readonly referenceData: JobReferenceData;
  readonly endpoints: Pick<EndpointService, "findByIds">;
  readonly members: Pick<MemberService, "getMany">;
  readonly mails: Pick<MailService, "list">;
  readonly invitations: Pick<InvitationService, "list">;
  readonly views: Pick<SavedViewService, "list">;
}

export function createLoaders(
  { principal, database }: LoaderRequest,
  { referenceData, endpoints, members, ...services }: LoaderServices,
): Loaders {
  const requirePrincipal = (): AuthenticatedPrincipal => {
    invariant(principal, "resolvers authenticate before they load");
    return principal;
  };
  const histories = new Map<string, DataLoader<string, HistoryRows>>();
  let statuses: Promise<ReadonlyMap<string, JobStatusNode>> | null = null;

  return {
    jobs: createLoader(async (ids) =>
      (await findJobsById(database, requirePrincipal(), ids)).map((row) => row && toJobNode(row)),
    ),
    organizations: createLoader(async (ids) =>
      (await findOrganizationsById(database, requirePrincipal(), ids)).map(
        (row) => row && toOrganizationNode(row),
      ),
    ),
    organizationSummaries: createLoader((ids) => loadOrganizationSummaries(database, ids)),
    ...createAccountLoaders({ requirePrincipal, database, members }),
    ...createConsoleLoaders({ requirePrincipal, database, ...services }),
    events: createLoader(async (ids) =>
      (await findEventsById(database, requirePrincipal(), ids)).map(
        (row) => row && toJobEventNode(row, requirePrincipal()),
      ),
    ),
    apiKeys: createLoader(async (ids) => {
      const views = await keysByIds(database, requirePrincipal(), ids);
      return alignToIds("key", ids, views.map(toApiKeyNode));
    }),
    ...createWebhookLoaders({ requirePrincipal, database, endpoints }),
    history(jobId, page) {
      const key = JSON.stringify(page);
      const loader =
        histories.get(key) ?? createLoader((ids) => historiesOf(database, requirePrincipal(), ids, page));
      histories.set(key, loader);
      return loader.load(jobId);
    },
    statuses: () =>
      (statuses ??= referenceData
        .statuses(database)
        .then((rows) => new Map(rows.map((row) => [row.code, toJobStatusNode(row)])))),
  };
}

interface WebhookLoaderDeps {
  readonly requirePrincipal: () => AuthenticatedPrincipal;
  readonly database: Queryable;
  readonly endpoints: Pick<EndpointService, "findByIds">;
}

type WebhookLoaders = Pick<
  Loaders,
  "endpoints" | "deliveries" | "attempts" | "deliveryAttempts" | "requestBodies"
>;

function createWebhookLoaders({ requirePrincipal, database, endpoints }: WebhookLoaderDeps): WebhookLoaders {
  return {
    endpoints: createLoader(async (ids) => {
      const views = await endpoints.findByIds(requirePrincipal(), ids, database);
      return alignToIds("whe", ids, views.map(toEndpointNode));
    }),
    deliveries: createLoader(async (ids) => {
      const views = await findDeliveriesById(database, requirePrincipal(), ids);
      return alignToIds("dlv", ids, views.map(toDeliveryNode));
    }),
    attempts: createLoader(async (ids) => {
      const views = await findAttemptsById(database, requirePrincipal(), ids);
      return alignToIds("att", ids, views.map(toAttemptNode));
    }),
    deliveryAttempts: createLoader(async (ids) => {
      const attempts = await attemptsByDelivery(database, requirePrincipal(), ids);
      return ids.map((id) => (attempts.get(id) ?? []).map(toAttemptNode));
    }),
    requestBodies: createLoader(async (ids) => {
      const bodies = await requestBodiesOf(database, requirePrincipal(), ids);
      return ids.map((id) => bodies.get(id) ?? null);
    }),
  };
}

async function loadOrganizationSummaries(
  database: Queryable,
  ids: readonly string[],
): Promise<(OrganizationSummary | null)[]> {
  const [states, counts] = await Promise.all([
    organizationStatuses(database, ids),
    countMembersByOrganization(database, ids),
  ]);
  const summaries = states.map((state) => ({
    id: state.id,
    createdAt: toIsoTime(state.created_at),
    suspendedAt: state.suspended_at === null ? null : toIsoTime(state.suspended_at),
    memberCount: counts.get(state.id) ?? 0,
  }));
  return alignByKey(ids, summaries, ({ id }) => id);
}
