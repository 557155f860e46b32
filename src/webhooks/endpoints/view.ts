/** Endpoints as the API shows them: typed ids, times in ISO 8601, no secrets. */
import type { Loaded } from "@mikro-orm/postgresql";
import { z } from "zod";
import { eventTypes } from "../../events/api.ts";
import { toTypedId } from "../../core/ids.ts";
import { modeOf, type OrganizationMode } from "../../organizations/api.ts";
import type { OrganizationType } from "../../core/principal.ts";
import type { SecretBox } from "../../core/secret-box.ts";
import { count, dateTime, extensibleEnum, flag, idSchema, text } from "../../operations/schemas.ts";
import { openHeaders, openSecrets } from "../signing/secrets.ts";
import { maskHeaders, toHeaderList } from "./custom-headers.ts";
import { disabledReasons, endpointStatuses, type WebhookEndpoint } from "./entity.ts";

/** Higher counts are reported as this number. */
export const PENDING_COUNT_LIMIT = 10_000;

const exampleTime = "2026-11-21T09:15:42.318Z";

export const endpointId = idSchema("whe", "Endpoint ID", "whe_01KAJQ8V5N3R7T1YC6GK2D9XWE");

/** A header of a request or response, as lists show it. */
export const shownHeader = z
  .object({
    name: text("Name", "X-Api-Key"),
    value: text("Value; secret values are masked", "********"),
  })
  .meta({ id: "WebhookHeader", description: "A header of a request or response." });

export const endpointView = z
  .object({
    id: endpointId,
    url: text("URL that receives the events", "https://partner.example/webhooks"),
    description: text("Description, set by the owner", "Dispatch board"),
    eventTypes: z
      .array(extensibleEnum(eventTypes, "An event type"))
      .nullable()
      .meta({ description: "Event types to send; null: all, including future types" }),
    headers: z
      .array(shownHeader)
      .meta({ description: "Custom headers sent with every request; their values are masked" }),
    maxInFlight: count("Maximum number of concurrent requests", 8),
    perSecond: count("Maximum number of requests per second", 50),
    status: extensibleEnum(
      endpointStatuses,
      "`paused` by its owner, `disabled` by the service. In both cases deliveries are on hold",
    ),
    disabledReason: extensibleEnum(
      disabledReasons,
      "Why it is disabled; null if it is not. `gone`: the receiver returned 410. `failing`: nothing succeeded for 5 days; for a test endpoint, for 75 seconds",
    )
      .nullable()
      .meta({ type: ["string", "null"] }),
    statusSince: dateTime("Time of the last status change", exampleTime),
    blockedUntil: dateTime(
      "Deliveries resume at this time, because the receiver asked to wait or recent deliveries failed; null if they are not blocked",
      exampleTime,
    ).nullable(),
    isCircuitOpen: flag("True while recent deliveries failed and only occasional probes are sent"),
    failingSince: dateTime(
      "Time of the first failure since the last success; null if the last delivery succeeded",
      exampleTime,
    ).nullable(),
    pending: count("Number of pending deliveries, counted up to 10,000", 0),
    problem: text(
      "Reason why requests cannot be signed; null if they can",
      "The secrets were encrypted with another WAYMARK_SECRET",
    ).nullable(),
    secretCreatedAt: dateTime("Creation time of the current secret", exampleTime),
    previousSecretsExpireAt: z
      .array(dateTime("Expiry time", exampleTime))
      .meta({ description: "Expiry times of previous secrets that still sign requests" }),
    createdBy: text("ID of the user or key that created it, or `operator`", "key_01KAB7Q3M5E8RZ2C4WFX9TNH6D"),
    createdAt: dateTime("Creation time", exampleTime),
    updatedAt: dateTime("Time of the last change", exampleTime),
  })
  .meta({ id: "WebhookEndpoint", description: "A URL that receives events." });

/** With its organisation, which only operators need. */
export interface EndpointView extends z.output<typeof endpointView> {
  organizationId: string;
  organizationName: string;
  organizationType: OrganizationType;
  mode: OrganizationMode;
}

export type LoadedEndpoint = Loaded<WebhookEndpoint, "organization">;

/** If secrets or headers cannot be decrypted, the view has the reason in `problem`. */
export function toEndpointView(
  endpoint: LoadedEndpoint,
  { secretBox, pending, nowMs }: { secretBox: Pick<SecretBox, "open">; pending: number; nowMs: number },
): EndpointView {
  const { organization, secrets } = endpoint;
  const { headers, problem } = decrypt(endpoint, secretBox, nowMs);
  const [current, ...former] = secrets;
  return {
    id: toTypedId("whe", endpoint.id),
    organizationId: toTypedId("org", organization.id),
    organizationName: organization.name,
    organizationType: organization.type,
    mode: modeOf(organization),
    url: endpoint.url,
    description: endpoint.description,
    eventTypes: endpoint.eventTypes ?? null,
    headers: toHeaderList(maskHeaders(headers)),
    maxInFlight: endpoint.maxInFlight,
    perSecond: endpoint.perSecond,
    status: endpoint.status,
    disabledReason: endpoint.status === "disabled" ? (endpoint.disabledReason ?? null) : null,
    statusSince: endpoint.statusSince.toISOString(),
    blockedUntil: endpoint.blockedUntil?.toISOString() ?? null,
    isCircuitOpen: typeof endpoint.circuitStep === "number",
    failingSince: endpoint.failingSince?.toISOString() ?? null,
    pending,
    problem,
    secretCreatedAt: current?.created_at ?? endpoint.createdAt.toISOString(),
    previousSecretsExpireAt: former.flatMap(({ expires_at: end }) =>
      end !== null && Date.parse(end) > nowMs ? [end] : [],
    ),
    createdBy: endpoint.createdBy,
    createdAt: endpoint.createdAt.toISOString(),
    updatedAt: endpoint.updatedAt.toISOString(),
  };
}

function decrypt(
  { id, secrets, sealedHeaders }: LoadedEndpoint,
  secretBox: Pick<SecretBox, "open">,
  nowMs: number,
): { headers: Record<string, string>; problem: string | null } {
  try {
    openSecrets(secretBox, id, { secrets, nowMs });
    return { headers: openHeaders(secretBox, id, sealedHeaders), problem: null };
  } catch (error) {
    return { headers: {}, problem: (error as Error).message };
  }
}
