/** Records a change of an endpoint in the audit log. */
import { isDeepStrictEqual } from "node:util";
import type { AccessChange, RecordAccessChange } from "../../mail/api.ts";
import { toTypedId } from "../../core/ids.ts";
import { snakeCase } from "../../core/names.ts";
import type { Reader } from "../../core/postgres/database.ts";
import type { WebhookPrincipal } from "../webhook-principal.ts";
import type { WebhookEndpoint } from "./entity.ts";
import type { ValidatedSettings } from "./validation.ts";

export interface EndpointChangeRecorder {
  /** If absent, nothing is recorded in the audit log. */
  readonly recordAccessChange?: RecordAccessChange | undefined;
}

export interface EndpointChange {
  readonly action: Extract<AccessChange["action"], `endpoint.${string}`>;
  readonly endpoint: Pick<WebhookEndpoint, "id" | "organization" | "url">;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** `on`: the transaction of the change. Stores only the URL's host, because the rest often contains a token. */
export async function recordEndpointChange(
  { recordAccessChange }: EndpointChangeRecorder,
  on: Reader,
  principal: WebhookPrincipal,
  { action, endpoint, details }: EndpointChange,
): Promise<void> {
  const { actor, ipAddress = null, requestId = null } = principal;
  const { host } = new URL(endpoint.url);
  await recordAccessChange?.(on, {
    action,
    actor,
    ipAddress,
    requestId,
    organizationId: endpoint.organization.id,
    subject: toTypedId("whe", endpoint.id),
    subjectName: host,
    details: { host, ...details },
  });
}

const settingNames = ["description", "eventTypes", "headers", "maxInFlight", "perSecond"] as const;

/** REST's names of the settings, besides the URL, that an update changes. Headers count whenever they are given. */
export function changedSettings(endpoint: WebhookEndpoint, settings: ValidatedSettings): string[] {
  return settingNames
    .filter((name) => {
      const value = settings[name];
      if (value === undefined) return false;
      return name === "headers" || !isDeepStrictEqual(value, endpoint[name] ?? null);
    })
    .map(snakeCase);
}
