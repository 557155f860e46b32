/** Queries of webhook endpoints, deliveries and attempts. */
import { deliveryCursor, readDeliveryCursor } from "../../webhooks/api.ts";
import { fromTypedId } from "../../platform/ids.ts";
import { markingNumberValue } from "../../jobs/api.ts";
import { authorize, requireOperator } from "../authorize.ts";
import type { QueryResolvers, WebhookDeliveryResolvers } from "../generated/schema-types.ts";
import { invalidArgument } from "../invalid-argument.ts";
import { fromEventTypeName } from "../nodes/event.node.ts";
import { toDeliveryNode, toEndpointNode } from "../nodes/webhook.node.ts";
import { pageRequest, readCursor, toConnection } from "../pagination.ts";

export const webhookQueries: Pick<
  QueryResolvers,
  "webhookEndpoints" | "webhookEndpoint" | "webhookDeliveries" | "failingWebhookEndpoints"
> = {
  async webhookEndpoints(_root, _args, context) {
    const principal = authorize(context, "webhooks:manage");
    return (await context.services.endpoints.list(principal, undefined, context.database)).map(
      toEndpointNode,
    );
  },

  async webhookEndpoint(_root, { id }, context) {
    const principal = authorize(context, "webhooks:manage");
    const view = await context.services.endpoints.find(principal, id, context.database);
    return view && toEndpointNode(view);
  },

  async failingWebhookEndpoints(_root, _args, context) {
    requireOperator(context, "webhooks:manage");
    return (await context.services.endpoints.listFailing(context.database)).map(toEndpointNode);
  },

  async webhookDeliveries(_root, { endpointId, status, eventType, markingNumber, ...args }, context) {
    const principal = authorize(context, "webhooks:manage");
    if (typeof markingNumber === "string" && !markingNumberValue.safeParse(markingNumber).success)
      throw invalidArgument("markingNumber", "must be a valid Marking Number");
    const page = pageRequest(args);
    readCursor(page, readDeliveryCursor);
    const { limit, cursor } = page;
    const filter = {
      endpointId: endpointId ?? undefined,
      status: status ? (status.toLowerCase() as Lowercase<typeof status>) : undefined,
      eventType: eventType ? fromEventTypeName(eventType) : undefined,
      markingNumber: markingNumber ?? undefined,
    };
    const request = { filter, limit, cursor: cursor ?? undefined };
    const { items, nextCursor } = await context.services.deliveries.list(
      principal,
      request,
      context.database,
    );
    return toConnection({
      items,
      hasNext: nextCursor !== null,
      hasPrevious: cursor !== null,
      toNode: toDeliveryNode,
      cursorOf: deliveryCursor,
    });
  },
};

export const webhookDelivery: WebhookDeliveryResolvers = {
  endpoint: ({ endpointId }, _args, { loaders }) => loaders.endpoints.load(uuidOf("whe", endpointId)),
  job({ jobId }, _args, context) {
    if (jobId === null) return null;
    authorize(context, "jobs:read");
    return context.loaders.jobs.load(uuidOf("job", jobId));
  },
  requestBody({ id, jobId }, _args, context) {
    // The body contains the whole job, except for test events.
    if (jobId !== null) authorize(context, "jobs:read");
    return context.loaders.requestBodies.load(uuidOf("dlv", id));
  },
  attempts: ({ id }, _args, { loaders }) => loaders.deliveryAttempts.load(uuidOf("dlv", id)),
};

/** The ID of a node is always valid. */
function uuidOf(prefix: "whe" | "job" | "dlv", id: string): string {
  return fromTypedId(prefix, id) as string;
}
