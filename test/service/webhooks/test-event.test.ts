/** Sending a test event to an endpoint. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isSigned } from "../../support/webhooks/is-signed.ts";
import { UNREACHABLE_URL } from "../../support/webhooks/endpoint.fixture.ts";
import { startTestReceiver } from "../../support/webhooks/receiver.ts";
import {
  openWebhookServiceFixture,
  type WebhookServiceFixture,
} from "../../support/webhooks/service.fixture.ts";

let services: WebhookServiceFixture;

beforeAll(async () => {
  services = await openWebhookServiceFixture();
});

afterAll(() => services[Symbol.asyncDispose]());

describe("sendTest", () => {
  it("sends a signed request, also to a paused endpoint, and records the response in the log", async () => {
    await using receiver = await startTestReceiver({ respond: () => ({ status: 202, body: "thanks" }) });
    const agent = await services.createOrganization("agent");
    const { endpoint, secret } = await services.endpoints.create(agent, {
      url: receiver.url,
      headers: { "X-Token": "s3cr3t" },
    });
    await services.endpoints.pause(agent, endpoint.id);
    const { attempts, requestBody, ...delivery } = await services.deliveries.sendTest(agent, endpoint.id);
    const received = await receiver.next();
    expect(received.headers).toMatchObject({ "x-token": "s3cr3t", "webhook-id": delivery.eventId });
    expect(isSigned(secret, received)).toBe(true);
    expect(JSON.parse(received.body)).toEqual({
      id: delivery.eventId,
      type: "webhook.test",
      api_version: "v1",
      timestamp: expect.stringMatching(/Z$/),
      data: { message: expect.stringContaining("test"), endpoint_id: endpoint.id },
    });
    expect(requestBody).toBe(received.body);
    expect(delivery).toMatchObject({
      endpointId: endpoint.id,
      eventType: "webhook.test",
      jobId: null,
      markingNumber: null,
      origin: "test",
      status: "delivered",
      attemptCount: 1,
      outcome: "delivered",
    });
    expect(attempts).toMatchObject([{ number: 1, httpStatus: 202, responseBody: "thanks", error: null }]);
    expect(attempts[0]?.requestHeaders).toContainEqual({ name: "x-token", value: "********" });
    expect((await services.deliveries.list(agent, { filter: {}, limit: 5 })).items).toEqual([delivery]);
  });

  it("reports the failure without changing the endpoint", async () => {
    await using receiver = await startTestReceiver({ respond: () => ({ status: 410 }) });
    const agent = await services.createOrganization("agent");
    const { endpoint } = await services.endpoints.create(agent, { url: receiver.url });
    const gone = await services.deliveries.sendTest(agent, endpoint.id);
    expect(gone).toMatchObject({ status: "failed", outcome: "http_410" });
    expect(gone.attempts[0]?.error).toMatch(/^The receiver returned 410 Gone\. This was a test/);
    const { endpoint: closed } = await services.endpoints.create(agent, { url: UNREACHABLE_URL });
    const refused = await services.deliveries.sendTest(agent, closed.id);
    expect(refused).toMatchObject({ status: "failed", outcome: "connect_refused" });
    expect(refused.attempts).toMatchObject([
      { httpStatus: null, error: expect.any(String), responseBody: null },
    ]);
    expect(await services.endpoints.get(agent, endpoint.id)).toEqual(endpoint);
  });
});
