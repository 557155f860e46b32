/** Reading webhook endpoints, deliveries and their attempts. */
import { deliveryCursor, readDeliveryCursor } from "../../webhooks/delivery.queries.ts";
import { fromTypedId } from "../../platform/ids.ts";
import { markingNumberValue } from "../../jobs/job.values.ts";
import { allowed, operatorOf } from "../access.ts";
import type { QueryResolvers, WebhookDeliveryResolvers } from "../generated/schema-types.ts";
import { badArgument } from "../errors.ts";
import { fromEventTypeName } from "../nodes/event.node.ts";
import { toDeliveryNode, toEndpointNode } from "../nodes/webhook.node.ts";
import { pageRequest, readCursor, toConnection } from "../paging.ts";

export const webhookQueries: Pick<
  QueryResolvers,
  "webhookEndpoints" | "webhookEndpoint" | "webhookDeliveries" | "endpointsInTrouble"
> = {
  async webhookEndpoints(_root, _args, context) {
    const caller = allowed(context, "webhooks:manage");
    return (await context.services.endpoints.list(caller, undefined, context.database)).map(toEndpointNode);
  },

  async webhookEndpoint(_root, { id }, context) {
    const caller = allowed(context, "webhooks:manage");
    const view = await context.services.endpoints.find(caller, id, context.database);
    return view && toEndpointNode(view);
  },

  async endpointsInTrouble(_root, _args, context) {
    operatorOf(context, "webhooks:manage");
    return (await context.services.endpoints.inTrouble(context.database)).map(toEndpointNode);
  },

  async webhookDeliveries(_root, { endpointId, status, eventType, markingNumber, ...args }, context) {
    const caller = allowed(context, "webhooks:manage");
    if (typeof markingNumber === "string" && !markingNumberValue.safeParse(markingNumber).success)
      throw badArgument("markingNumber", "is no Marking Number");
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
    allowed(context, "jobs:read");
    return context.loaders.jobs.load(uuidOf("job", jobId));
  },
  requestBody({ id, jobId }, _args, context) {
    // It holds the whole job; a test event's holds none.
    if (jobId !== null) allowed(context, "jobs:read");
    return context.loaders.requestBodies.load(uuidOf("dlv", id));
  },
  attempts: ({ id }, _args, { loaders }) => loaders.attemptsOf.load(uuidOf("dlv", id)),
};

/** Of an id that we have written ourselves. */
function uuidOf(prefix: "whe" | "job" | "dlv", id: string): string {
  return fromTypedId(prefix, id) as string;
}
