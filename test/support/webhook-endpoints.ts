/** Endpoints for the tests of what their owners do with them. They lead to where nobody listens. */
import { fromTypedId } from "../../src/platform/ids.ts";
import type { Principal } from "../../src/platform/principal.ts";
import type { EndpointSettings } from "../../src/webhooks/endpoint.checks.ts";
import type { WebhookServices } from "./webhook-services.ts";

/** Where nobody listens. */
export const CLOSED_URL = "http://127.0.0.1:9/webhooks";

/** Makes one, and answers with its typed id. */
export async function endpointOf(
  { endpoints }: Pick<WebhookServices, "endpoints">,
  owner: Principal,
  settings: EndpointSettings = {},
): Promise<string> {
  const { endpoint } = await endpoints.create(owner, { ...settings, url: CLOSED_URL });
  return endpoint.id;
}

/** As it is stored. */
export const uuidOf = (id: string): string => fromTypedId("whe", id) as string;
