/** Reading webhook endpoints, deliveries and their attempts. */
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
    const caller = authorize(context, "webhooks:manage");
    return (await context.services.endpoints.list(caller, undefined, context.database)).map(toEndpointNode);
  },

  async webhookEndpoint(_root, { id }, context) {
    const caller = authorize(context, "webhooks:manage");
    const view = await context.services.endpoints.find(caller, id, context.database);
    return view && toEndpointNode(view);
  },

  async failingWebhookEndpoints(_root, _args, context) {
    requireOperator(context, "webhooks:manage");
    return (await context.services.endpoints.listFailing(context.database)).map(toEndpointNode);
  },

  async webhookDeliveries(_root, { endpointId, status, eventType, markingNumber, ...args }, context) {
    const caller = authorize(context, "webhooks:manage");
    if (typeof markingNumber === "string" && !markingNumberValue.safeParse(markingNumber).success)
      throw invalidArgument("markingNumber", "is no Marking Number");
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
    const { items, nextCursor } = await context.services.deliveries.list(caller, request, context.database);
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
    // It holds the whole job; a test event's holds none.
    if (jobId !== null) authorize(context, "jobs:read");
    return context.loaders.requestBodies.load(uuidOf("dlv", id));
  },
  attempts: ({ id }, _args, { loaders }) => loaders.deliveryAttempts.load(uuidOf("dlv", id)),
};

/** Of an id that we have written ourselves. */
function uuidOf(prefix: "whe" | "job" | "dlv", id: string): string {
  return fromTypedId(prefix, id) as string;
}
