/** Things by their ids, gathered within one operation: whoever asks in the same moment shares one statement. */
import type DataLoader from "dataloader";
import { memberCounts } from "../accounts/member-count.lookup.ts";
import type { MemberService } from "../accounts/member.service.ts";
import { keysById } from "../api-keys/api-key.lookup.ts";
import { eventsById, historyOf, type HistoryRequest, type HistoryRows } from "../events/event.lookup.ts";
import type { JobCodes } from "../jobs/job.codes.ts";
import { jobsById, organizationsById } from "../jobs/job.lookup.ts";
import { organizationStates } from "../organizations/organization.lookup.ts";
import type { Queryable } from "../platform/database.ts";
import { invariant } from "../platform/errors.ts";
import { inOrder } from "../platform/in-order.ts";
import { toIsoTime } from "../platform/time.ts";
import { requestBodiesOf } from "../webhooks/delivery.bodies.ts";
import { attemptsById, attemptsOf, deliveriesById } from "../webhooks/delivery.lookup.ts";
import type { EndpointService } from "../webhooks/endpoint.service.ts";
import type { Holder } from "./holder.ts";
import { loader, ofIds } from "./loader.ts";
import { createPeopleLoaders, type PeopleLoaders } from "./loaders.people.ts";
import { toApiKeyNode, type ApiKeyNode } from "./nodes/api-key.node.ts";
import { toJobEventNode, type JobEventNode } from "./nodes/event.node.ts";
import { toJobNode, type JobNode } from "./nodes/job.node.ts";
import { toOrganizationNode, type OrganizationNode } from "./nodes/organization.node.ts";
import { toJobStatus, type JobStatusNode } from "./nodes/status.node.ts";
import {
  toAttemptNode,
  toDeliveryNode,
  toEndpointNode,
  type AttemptNode,
  type DeliveryNode,
  type EndpointNode,
} from "./nodes/webhook.node.ts";

export interface OrganizationStanding {
  readonly createdAt: string;
  readonly suspendedAt: string | null;
  readonly memberCount: number;
}

/** By uuids; null: there is none that the caller may see. */
export interface Loaders extends PeopleLoaders {
  readonly jobs: DataLoader<string, JobNode | null>;
  readonly organizations: DataLoader<string, OrganizationNode | null>;
  /** Of any organisation: whether the caller may know it is asked before. */
  readonly standings: DataLoader<string, OrganizationStanding | null>;
  readonly events: DataLoader<string, JobEventNode | null>;
  readonly keys: DataLoader<string, ApiKeyNode | null>;
  readonly endpoints: DataLoader<string, EndpointNode | null>;
  readonly deliveries: DataLoader<string, DeliveryNode | null>;
  readonly attempts: DataLoader<string, AttemptNode | null>;
  /** By the uuids of deliveries. */
  readonly attemptsOf: DataLoader<string, AttemptNode[]>;
  /** Of deliveries. */
  readonly requestBodies: DataLoader<string, string | null>;
  /** One page of the history of a job; jobs that want the same page are asked together. */
  history(jobId: string, page: HistoryRequest): Promise<HistoryRows>;
  /** All statuses by their codes. */
  statuses(): Promise<ReadonlyMap<string, JobStatusNode>>;
}

interface Request {
  readonly holder: Holder | null;
  readonly database: Queryable;
}

interface Services {
  readonly codes: JobCodes;
  readonly endpoints: Pick<EndpointService, "byIds">;
  readonly members: Pick<MemberService, "byIds">;
}

export function createLoaders(
  { holder, database }: Request,
  { codes, endpoints, members }: Services,
): Loaders {
  const viewer = (): Holder => {
    invariant(holder, "only resolvers that have asked who is asking load anything");
    return holder;
  };
  const histories = new Map<string, DataLoader<string, HistoryRows>>();
  let statuses: Promise<ReadonlyMap<string, JobStatusNode>> | null = null;

  return {
    jobs: loader(async (ids) =>
      (await jobsById(database, viewer(), ids)).map((row) => row && toJobNode(row)),
    ),
    organizations: loader(async (ids) =>
      (await organizationsById(database, viewer(), ids)).map((row) => row && toOrganizationNode(row)),
    ),
    standings: loader((ids) => standingsOf(database, ids)),
    ...createPeopleLoaders({ viewer, database, members }),
    events: loader(async (ids) =>
      (await eventsById(database, viewer(), ids)).map((row) => row && toJobEventNode(row, viewer())),
    ),
    keys: loader(async (ids) => {
      const views = await keysById(database, viewer(), ids);
      return ofIds("key", ids, views.map(toApiKeyNode));
    }),
    endpoints: loader(async (ids) => {
      const views = await endpoints.byIds(viewer(), ids, database);
      return ofIds("whe", ids, views.map(toEndpointNode));
    }),
    deliveries: loader(async (ids) => {
      const views = await deliveriesById(database, viewer(), ids);
      return ofIds("dlv", ids, views.map(toDeliveryNode));
    }),
    attempts: loader(async (ids) => {
      const views = await attemptsById(database, viewer(), ids);
      return ofIds("att", ids, views.map(toAttemptNode));
    }),
    attemptsOf: loader(async (ids) => {
      const found = await attemptsOf(database, viewer(), ids);
      return ids.map((id) => (found.get(id) ?? []).map(toAttemptNode));
    }),
    requestBodies: loader(async (ids) => {
      const found = await requestBodiesOf(database, viewer(), ids);
      return ids.map((id) => found.get(id) ?? null);
    }),
    history(jobId, page) {
      const key = JSON.stringify(page);
      const known = histories.get(key) ?? loader((ids) => historyOf(database, viewer(), ids, page));
      histories.set(key, known);
      return known.load(jobId);
    },
    statuses: () =>
      (statuses ??= codes
        .statuses(database)
        .then((rows) => new Map(rows.map((row) => [row.code, toJobStatus(row)])))),
  };
}

async function standingsOf(
  database: Queryable,
  ids: readonly string[],
): Promise<(OrganizationStanding | null)[]> {
  const [states, counts] = await Promise.all([
    organizationStates(database, ids),
    memberCounts(database, ids),
  ]);
  const standings = states.map((state) => ({
    id: state.id,
    createdAt: toIsoTime(state.created_at),
    suspendedAt: state.suspended_at === null ? null : toIsoTime(state.suspended_at),
    memberCount: counts.get(state.id) ?? 0,
  }));
  return inOrder(ids, standings, ({ id }) => id);
}
