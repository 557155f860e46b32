/** Things by their ids, gathered within one operation: whoever asks in the same moment shares one statement. */
import DataLoader from "dataloader";
import { keysById } from "../api-keys/api-key.lookup.ts";
import type { KeyHolder } from "../api-keys/api-key.memory.ts";
import { eventsById, historyOf, type HistoryRequest, type HistoryRows } from "../events/event.lookup.ts";
import type { JobCodes } from "../jobs/job.codes.ts";
import { jobsById, organizationsById } from "../jobs/job.lookup.ts";
import type { Queryable } from "../platform/database.ts";
import { invariant } from "../platform/errors.ts";
import { toTypedId } from "../platform/ids.ts";
import { inOrder } from "../platform/in-order.ts";
import { attemptsOf, deliveriesById } from "../webhooks/delivery.lookup.ts";
import type { EndpointService } from "../webhooks/endpoint.service.ts";
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

/** By uuids; null: there is none that the caller may see. */
export interface Loaders {
  readonly jobs: DataLoader<string, JobNode | null>;
  readonly organizations: DataLoader<string, OrganizationNode | null>;
  readonly events: DataLoader<string, JobEventNode | null>;
  readonly keys: DataLoader<string, ApiKeyNode | null>;
  readonly endpoints: DataLoader<string, EndpointNode | null>;
  readonly deliveries: DataLoader<string, DeliveryNode | null>;
  readonly attempts: DataLoader<string, AttemptNode[]>;
  /** One page of the history of a job; jobs that want the same page are asked together. */
  history(jobId: string, page: HistoryRequest): Promise<HistoryRows>;
  /** All statuses by their codes. */
  statuses(): Promise<ReadonlyMap<string, JobStatusNode>>;
}

interface Request {
  readonly holder: KeyHolder | null;
  readonly database: Queryable;
}

interface Services {
  readonly codes: JobCodes;
  readonly endpoints: Pick<EndpointService, "byIds">;
}

export function createLoaders({ holder, database }: Request, { codes, endpoints }: Services): Loaders {
  const viewer = (): KeyHolder => {
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
      const found = await attemptsOf(database, viewer(), ids);
      return ids.map((id) => (found.get(id) ?? []).map(toAttemptNode));
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

function loader<Value>(load: (ids: readonly string[]) => Promise<Value[]>): DataLoader<string, Value> {
  return new DataLoader(load, { maxBatchSize: 1_000 });
}

/** `ids` are uuids; nodes have typed ids. */
function ofIds<Node extends { readonly id: string }>(
  prefix: "key" | "whe" | "dlv",
  ids: readonly string[],
  nodes: readonly Node[],
): (Node | null)[] {
  const typed = ids.map((id) => toTypedId(prefix, id));
  return inOrder(typed, nodes, (node) => node.id);
}
