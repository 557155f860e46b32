import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, it } from "vitest";
import { AddressGuard } from "../../../src/core/http-client/address-guard.ts";
import { HttpClient } from "../../../src/core/http-client/client.ts";
import type { AttemptResult } from "../../../src/webhooks/dispatcher/lease.ts";
import { Sender } from "../../../src/webhooks/dispatcher/sign-and-send.ts";
import { newSecret } from "../../../src/webhooks/signing/secrets.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import {
  startTestReceiver,
  type TestReceiver,
  type TestReceiverOptions,
} from "../../support/webhooks/receiver.ts";

const clock = createFakeClock();
const http = new HttpClient({ guard: new AddressGuard({ allowPrivate: true }) });
const sender = new Sender({ http, clock, docsUrl: "https://waymark.example/guide/webhooks/quickstart" });
const secret = newSecret();
const webhookId = "evt_01KAJQZ4T3C6Y1GKD8B5RVXE2H";
const body = '{"id":"evt_01KAJQZ4T3C6Y1GKD8B5RVXE2H","data":{"town":"Tromsø 🚚"}}';

const receivers: TestReceiver[] = [];
const receiverOf = async (options: TestReceiverOptions = {}): Promise<TestReceiver> => {
  const receiver = await startTestReceiver({ secret, ...options });
  receivers.push(receiver);
  return receiver;
};
const send = (receiver: TestReceiver, headers: Record<string, string> = {}): Promise<AttemptResult> =>
  sender.send({ endpoint: { url: receiver.url, headers, secrets: [secret, newSecret()] }, webhookId, body });

afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver[Symbol.asyncDispose]();
});

describe("an attempt", () => {
  it("has a signature that the receiver and the package standardwebhooks accept", async () => {
    const receiver = await receiverOf({
      respond: () => ({ headers: { "content-type": "text/plain" }, body: "thanks" }),
    });
    const result = await send(receiver);
    const { headers, body: arrived, isSigned } = await receiver.next();
    expect(isSigned).toBe(true);
    expect(new Webhook(secret).verify(arrived, headers as Record<string, string>)).toEqual(JSON.parse(body));
    expect(headers).toMatchObject({
      "content-type": "application/json",
      "user-agent": "Waymark-Webhooks/1.0 (+https://waymark.example/guide/webhooks/quickstart)",
      "webhook-id": webhookId,
      "webhook-timestamp": String(Math.floor(clock.now() / 1000)),
    });
    expect(String(headers["webhook-signature"]).split(" ")).toHaveLength(2);
    expect(result).toEqual({
      startedAtMs: clock.now(),
      durationMs: expect.any(Number),
      outcome: { class: "delivered", status: 200, message: null, retryAfter: null },
      requestHeaders: expect.objectContaining({ "webhook-signature": headers["webhook-signature"] }),
      responseHeaders: expect.objectContaining({ "content-type": "text/plain" }),
      responseBody: "thanks",
    });
  });

  it("repeats the id with a new timestamp and signature", async () => {
    const receiver = await receiverOf();
    const first = await send(receiver);
    clock.advance(5_000);
    const second = await send(receiver);
    expect(second.requestHeaders["webhook-id"]).toBe(first.requestHeaders["webhook-id"]);
    expect(second.requestHeaders["webhook-signature"]).not.toBe(first.requestHeaders["webhook-signature"]);
    expect(second.startedAtMs - first.startedAtMs).toBe(5_000);
    expect(receiver.received.map(({ isSigned }) => isSigned)).toEqual([true, true]);
  });

  it("sends custom headers, which replace no standard headers and are masked in the result", async () => {
    const receiver = await receiverOf();
    const result = await send(receiver, {
      Authorization: "Bearer s3cret",
      "webhook-id": "evt_forged",
      "Content-Type": "text/html",
      "User-Agent": "forged",
      Host: "internal.example",
      "Content-Length": "3",
      "Transfer-Encoding": "chunked",
      "X-Split": "a\r\nX-Evil: 1",
    });
    const { headers, isSigned } = await receiver.next();
    expect(isSigned).toBe(true);
    expect(headers).toMatchObject({
      authorization: "Bearer s3cret",
      "content-type": "application/json",
      "webhook-id": webhookId,
      host: `127.0.0.1:${receiver.port}`,
    });
    expect(headers).not.toHaveProperty("x-evil");
    expect(headers).not.toHaveProperty("x-split");
    expect(Object.keys(result.requestHeaders)).toEqual([
      "content-type",
      "user-agent",
      "webhook-id",
      "webhook-timestamp",
      "webhook-signature",
      "authorization",
    ]);
    expect(result.requestHeaders["authorization"]).toBe("********");
    expect(JSON.stringify(result)).not.toContain("s3cret");
  });

  it.each([
    [204, {}, { class: "delivered", status: 204, message: null }],
    [302, { location: "/" }, { class: "http_302", message: expect.stringContaining("not followed") }],
    [400, {}, { class: "http_400", message: expect.stringContaining("Only a 2xx status") }],
    [404, {}, { class: "http_404", message: expect.stringContaining("Check the path") }],
    [410, {}, { class: "http_410", message: expect.stringContaining("disabled") }],
    [429, { "retry-after": "30" }, { class: "http_429", retryAfter: "30" }],
  ])("with the response %i", async (status, headers, outcome) => {
    const result = await send(await receiverOf({ respond: () => ({ status, headers }) }));
    expect(result.outcome).toMatchObject(outcome);
  });
});
