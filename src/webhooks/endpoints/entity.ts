/** A webhook endpoint: a URL of an organisation, what is sent there, and how it has been doing. */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import { type EventType, eventTypes } from "../../events/api.ts";
import { Organization } from "../../organizations/api.ts";

export { eventTypes };

/** `paused` by its owner, `disabled` by us; either way its deliveries wait. */
export const endpointStatuses = ["active", "paused", "disabled"] as const;
export type EndpointStatus = (typeof endpointStatuses)[number];

/** `gone`: it answered 410. `failing`: nothing succeeded for days. */
export const disabledReasons = ["gone", "failing"] as const;
export type DisabledReason = (typeof disabledReasons)[number];

/** A signing secret, encrypted (`platform/secret-box.ts`). */
export interface SealedSecret {
  sealed: string;
  created_at: string;
  /** Null: the one that signs. A former one signs beside it until then. */
  expires_at: string | null;
}

export const IN_FLIGHT_LIMITS = { least: 1, most: 64, usual: 8 } as const;
export const RATE_LIMITS = { least: 1, most: 1_000, usual: 50 } as const;

export const WebhookEndpoint = defineEntity({
  name: "WebhookEndpoint",
  tableName: "webhook_endpoint",
  properties: {
    id: p.uuid().primary(),
    organization: () => p.manyToOne(Organization),
    url: p.text(),
    description: p.text().default(""),
    /** Null: all, those to come included. */
    eventTypes: p.array().$type<EventType[]>().nullable(),
    /** Custom headers as an encrypted JSON object, since they may carry tokens; null: none. */
    sealedHeaders: p.text().nullable(),
    /** Newest first. */
    secrets: p.json<SealedSecret[]>(),
    maxInFlight: p.integer().default(IN_FLIGHT_LIMITS.usual),
    perSecond: p.integer().default(RATE_LIMITS.usual),
    status: p.enum(endpointStatuses).default("active"),
    disabledReason: p.enum(disabledReasons).nullable(),
    /** When `status` became what it is. */
    statusSince: p.datetime(3).defaultRaw("now()"),
    /** Nothing is sent before this instant: the receiver asked for time, or its circuit is open. */
    blockedUntil: p.datetime(3).nullable(),
    /** Null: the circuit is closed. Otherwise how many probes have failed. */
    circuitStep: p.integer().nullable(),
    /** The first failure after the last success. */
    failingSince: p.datetime(3).nullable(),
    /** When its owners were last written to about trouble with it. */
    lastAlertAt: p.datetime(3).nullable(),
    /** Grows with each change of what a sender needs to know. */
    version: p.integer().default(1),
    createdBy: p.text(),
    createdAt: p.datetime(3).defaultRaw("now()"),
    updatedAt: p.datetime(3).defaultRaw("now()"),
    /** Kept for the log of its deliveries. */
    deletedAt: p.datetime(3).nullable(),
  },
  indexes: [{ name: "webhook_endpoint_organization", properties: ["organization"] }],
});

export type WebhookEndpoint = InferEntity<typeof WebhookEndpoint>;
