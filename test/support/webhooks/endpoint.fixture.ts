/** Creates endpoints with an unreachable URL. */
import { fromTypedId } from "../../../src/core/ids.ts";
import type { OrganizationPrincipal } from "../../../src/core/principal.ts";
import type { EndpointSettings } from "../../../src/webhooks/endpoints/validation.ts";
import type { WebhookServiceFixture } from "./service.fixture.ts";

/** Nothing listens on this port. */
export const UNREACHABLE_URL = "http://127.0.0.1:9/webhooks";

/** Creates an endpoint and returns its typed ID. */
export async function createEndpointFor(
  { endpoints }: Pick<WebhookServiceFixture, "endpoints">,
  owner: OrganizationPrincipal,
  settings: EndpointSettings = {},
): Promise<string> {
  const { endpoint } = await endpoints.create(owner, { ...settings, url: UNREACHABLE_URL });
  return endpoint.id;
}

/** Converts a typed ID to the stored UUID. */
export const endpointUuid = (id: string): string => fromTypedId("whe", id) as string;
