/** Endpoints for the tests of what their owners do with them. They lead to where nobody listens. */
import { fromTypedId } from "../../../src/platform/ids.ts";
import type { OrganizationPrincipal } from "../../../src/platform/principal.ts";
import type { EndpointSettings } from "../../../src/webhooks/endpoints/validation.ts";
import type { WebhookServiceFixture } from "./service.fixture.ts";

/** Where nobody listens. */
export const UNREACHABLE_URL = "http://127.0.0.1:9/webhooks";

/** Makes one, and answers with its typed id. */
export async function createEndpointFor(
  { endpoints }: Pick<WebhookServiceFixture, "endpoints">,
  owner: OrganizationPrincipal,
  settings: EndpointSettings = {},
): Promise<string> {
  const { endpoint } = await endpoints.create(owner, { ...settings, url: UNREACHABLE_URL });
  return endpoint.id;
}

/** As it is stored. */
export const endpointUuid = (id: string): string => fromTypedId("whe", id) as string;
