/** Webhook endpoints, deliveries and attempts in the shape of the GraphQL schema. */
import type { AttemptView, DeliveryView, EndpointView } from "../../webhooks/api.ts";
import { toEventTypeName, type EventTypeName } from "./event.node.ts";
import type { OrganizationNode } from "./organization.node.ts";

export interface HeaderNode {
  readonly name: string;
  readonly value: string;
}

export type EndpointNode = Omit<
  EndpointView,
  | "organizationId"
  | "organizationName"
  | "organizationType"
  | "eventTypes"
  | "headers"
  | "status"
  | "disabledReason"
> & {
  readonly organization: OrganizationNode;
  readonly eventTypes: EventTypeName[] | null;
  readonly headers: HeaderNode[];
  readonly status: Uppercase<EndpointView["status"]>;
  readonly disabledReason: Uppercase<NonNullable<EndpointView["disabledReason"]>> | null;
};

export type DeliveryNode = Omit<DeliveryView, "attempts" | "eventType" | "origin" | "status"> & {
  readonly attemptCount: number;
  readonly eventType: EventTypeName | "WEBHOOK_TEST";
  readonly origin: Uppercase<DeliveryView["origin"]>;
  readonly status: Uppercase<DeliveryView["status"]>;
};

export type AttemptNode = Omit<AttemptView, "requestHeaders" | "responseHeaders"> & {
  readonly requestHeaders: HeaderNode[];
  readonly responseHeaders: HeaderNode[] | null;
};

export function toEndpointNode(view: EndpointView): EndpointNode {
  const { organizationId, organizationName, organizationType, ...rest } = view;
  return {
    ...rest,
    organization: {
      id: organizationId,
      name: organizationName,
      type: organizationType.toUpperCase() as OrganizationNode["type"],
    },
    eventTypes: view.eventTypes?.map((type) => toEventTypeName(type) as EventTypeName) ?? null,
    headers: toHeaderNodes(view.headers),
    status: view.status.toUpperCase() as EndpointNode["status"],
    disabledReason: (view.disabledReason?.toUpperCase() ?? null) as EndpointNode["disabledReason"],
  };
}

export function toDeliveryNode({ attempts, ...view }: DeliveryView): DeliveryNode {
  return {
    ...view,
    attemptCount: attempts,
    eventType: toEventTypeName(view.eventType) as DeliveryNode["eventType"],
    origin: view.origin.toUpperCase() as DeliveryNode["origin"],
    status: view.status.toUpperCase() as DeliveryNode["status"],
  };
}

export function toAttemptNode(view: AttemptView): AttemptNode {
  return {
    ...view,
    requestHeaders: toHeaderNodes(view.requestHeaders),
    responseHeaders: view.responseHeaders && toHeaderNodes(view.responseHeaders),
  };
}

function toHeaderNodes(headers: Readonly<Record<string, string>>): HeaderNode[] {
  return Object.entries(headers).map(([name, value]) => ({ name, value }));
}
