/** The `webhook_endpoint` table: settings, secrets and delivery state of an endpoint. */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import type { EventType } from "../../events/api.ts";
import { Organization } from "../../organizations/api.ts";

/** `paused` by its owner, `disabled` by Waymark. In both cases deliveries are on hold. */
export const endpointStatuses = ["active", "paused", "disabled"] as const;

/** `gone`: the receiver returned 410. `failing`: nothing succeeded for too long (`disableRules`). */
export const disabledReasons = ["gone", "failing"] as const;
export type DisabledReason = (typeof disabledReasons)[number];

/** A signing secret, encrypted (`core/secret-box.ts`). */
export interface SealedSecret {
  sealed: string;
  created_at: string;
  /** Null for the current secret. A former one signs in addition until this time. */
  expires_at: string | null;
}

export const IN_FLIGHT_LIMITS = { min: 1, max: 64, default: 8 } as const;
export const RATE_LIMITS = { min: 1, max: 1_000, default: 50 } as const;

export const WebhookEndpoint = defineEntity({
  name: "WebhookEndpoint",
  tableName: "webhook_endpoint",
  properties: {
    id: p.uuid().primary(),
    organization: () => p.manyToOne(Organization),
    url: p.text(),
    description: p.text().default(""),
    /** Null: all types, including future ones. */
    eventTypes: p.array().$type<EventType[]>().nullable(),
    /** Custom headers as encrypted JSON, because they can contain tokens; null if there are none. */
    sealedHeaders: p.text().nullable(),
    /** Newest first. */
    secrets: p.json<SealedSecret[]>(),
    maxInFlight: p.integer().default(IN_FLIGHT_LIMITS.default),
    perSecond: p.integer().default(RATE_LIMITS.default),
    status: p.enum(endpointStatuses).default("active"),
    disabledReason: p.enum(disabledReasons).nullable(),
    /** When `status` last changed. */
    statusSince: p.datetime(3).defaultRaw("now()"),
    /** Nothing is sent before this time, because the receiver asked for a pause or the circuit is open. */
    blockedUntil: p.datetime(3).nullable(),
    /** The number of failed probes while the circuit is open; null if it is closed. */
    circuitStep: p.integer().nullable(),
    /** The first failure after the last success. */
    failingSince: p.datetime(3).nullable(),
    /** When its deliveries were last retried on request. */
    retriedAt: p.datetime(3).nullable(),
    /** When the owners last got a mail about failed retries. */
    lastAlertAt: p.datetime(3).nullable(),
    /** Grows with each change that affects sending. */
    version: p.integer().default(1),
    createdBy: p.text(),
    createdAt: p.datetime(3).defaultRaw("now()"),
    updatedAt: p
      .datetime(3)
      .defaultRaw("now()")
      .onUpdate(() => new Date()),
    /** Deleted endpoints are kept for the delivery log. */
    deletedAt: p.datetime(3).nullable(),
  },
  indexes: [{ name: "webhook_endpoint_organization", properties: ["organization"] }],
  filters: {
    notDeleted: { name: "notDeleted", cond: { deletedAt: null }, default: true },
    /** On by default, so that a read that does not name its principal fails (`forPrincipal`). */
    endpointVisibility: {
      name: "endpointVisibility",
      cond: ({ organizationId }: { organizationId?: string | null }) =>
        organizationId === null ? {} : { organization: organizationId },
      default: true,
    },
  },
});

/** The state of an endpoint to which nothing has failed: sending is not blocked and the circuit is closed. */
export const noFailures = { blockedUntil: null, circuitStep: null, failingSince: null };

export type WebhookEndpoint = InferEntity<typeof WebhookEndpoint>;
