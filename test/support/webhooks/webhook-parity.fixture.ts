/** Organisations with endpoints and deliveries, for tests that run an action through REST and through GraphQL. */
import { snakeCase } from "../../../src/core/names.ts";
import type { Scope } from "../../../src/api-keys/api.ts";
import { fromTypedId } from "../../../src/core/ids.ts";
import { systemActor } from "../../../src/core/principal.ts";
import type { EndpointSettings } from "../../../src/webhooks/endpoints/validation.ts";
import type { TestOrganization } from "../app/app.fixture.ts";
import type { SharedApp } from "../app/shared-app.ts";
import { finishPendingDeliveries } from "./delivery.fixture.ts";

/** A public IP address, so that no name is looked up. Nothing is sent there, because no worker runs. */
const PUBLIC_URL = "https://93.184.216.34/hooks";

export interface WebhookFixture {
  organization: TestOrganization;
  key: string;
  /** Typed id; `uuid` is the stored form. */
  endpoint: string;
  uuid: string;
  /** The typed id of the newest delivery; empty if there is none. */
  delivery: string;
}

export interface WebhookSetUp {
  /** Of the key; default: all that the action may need. */
  scopes?: readonly Scope[];
  settings?: Partial<EndpointSettings & { url: string }>;
  /** The number of jobs, each with a delivery of its `job.created`. */
  jobs?: number;
  /** If set, the deliveries are finished. */
  finished?: "delivered" | "failed";
  /** Replaces the endpoint or delivery that the action names by one of another organisation, or by an unknown one. */
  target?: "another organisation's" | "unknown";
}

const UNKNOWN = { endpoint: "whe_01KAJQ8V5N3R7T1YC6GK2D9XWE", delivery: "dlv_01KAJQZ4T8M2N6R0V4Y7C1F5HK" };

export async function setUpWebhooks(
  app: SharedApp,
  { scopes = ["webhooks:manage", "jobs:read"], settings = {}, jobs = 0, finished, target }: WebhookSetUp = {},
): Promise<WebhookFixture> {
  const organization = await app.createOrganization("agent");
  const text = await app.createKey(organization.id, { scopes });
  const owner = { organizationId: organization.id, actor: systemActor };
  const { endpoint } = await app.webhooks.endpoints.create(owner, { url: PUBLIC_URL, ...settings });
  const uuid = fromTypedId("whe", endpoint.id) as string;
  await app.createJobs(organization, jobs);
  if (finished) await finishPendingDeliveries(app, uuid, finished);
  const { items } = await app.webhooks.deliveries.list(owner, { filter: {}, limit: 1 });
  const own = { endpoint: endpoint.id, delivery: items[0]?.id ?? "" };
  const named = target === "unknown" ? UNKNOWN : target ? await setUpWebhooks(app, { jobs: 1 }) : own;
  return { organization, key: text, uuid, endpoint: named.endpoint, delivery: named.delivery };
}

const ENUM_FIELDS = new Set(["status", "disabledReason", "origin"]);
const EVENT_TYPE_FIELDS = new Set(["eventType", "eventTypes"]);

/** Returns a result of GraphQL as REST shows it: names in snake case, and codes in lower case. */
export function inRestForm(value: unknown, field = ""): unknown {
  if (Array.isArray(value)) return value.map((item) => inRestForm(item, field));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [snakeCase(name), inRestForm(member, name)]),
    );
  if (typeof value !== "string") return value;
  if (EVENT_TYPE_FIELDS.has(field)) return value.toLowerCase().replace("_", ".");
  return ENUM_FIELDS.has(field) ? value.toLowerCase() : value;
}
