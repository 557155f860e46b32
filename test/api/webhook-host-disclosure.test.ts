/** Errors for webhook URLs and test events must not reveal which host names exist in the internal network. */
import { Resolver } from "node:dns/promises";
import { Writable } from "node:stream";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { createLogger } from "../../src/core/logger.ts";
import { graphql } from "../support/graphql/client.ts";
import { startTestApp } from "../support/app/app.fixture.ts";

const CREATE = `mutation ($url: String!) {
  createWebhookEndpoint(input: { url: $url }) { endpoint { id } userErrors { code field message } }
}`;
const UPDATE = `mutation ($id: ID!, $url: String!) {
  updateWebhookEndpoint(id: $id, patch: { url: $url }) { endpoint { id } userErrors { code field message } }
}`;
const SEND = `mutation ($id: ID!) {
  sendTestEvent(endpointId: $id) {
    delivery { status outcome attempts { number outcome httpStatus error responseHeaders { name } responseBody } }
    userErrors { message }
  }
}`;
const URL = "https://intranet.test/hook";
const PUBLIC = "93.184.216.34";
const PRIVATE = "10.20.30.40";

const log: Record<string, unknown>[] = [];
const lines = new Writable({
  write(chunk: Buffer, _encoding, done) {
    log.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
    done();
  },
});

const app = await startTestApp(
  { WEBHOOK_ALLOW_PRIVATE: "off", WAYMARK_ROLE: "api" },
  { logger: createLogger("info", lines) },
);
const agent = await app.createOrganization("agent");
afterEach(() => void vi.restoreAllMocks());
afterAll(() => app[Symbol.asyncDispose]());

/** Makes every name resolve to `address`, or to nothing. */
function resolveTo(address: string | null): void {
  const missing = Object.assign(new Error("no such name"), { code: "ENOTFOUND" });
  vi.spyOn(Resolver.prototype, "resolve4").mockImplementation(async () => {
    await Promise.resolve();
    if (address === null) throw missing;
    return [address] as never;
  });
  vi.spyOn(Resolver.prototype, "resolve6").mockRejectedValue(missing);
}

async function newEndpoint(): Promise<string> {
  resolveTo(PUBLIC);
  const { data } = await graphql(app, CREATE, { key: agent.key, variables: { url: URL } });
  return String(data.createWebhookEndpoint.endpoint.id);
}

/** Returns both response bodies: for an unknown name, and for one with a private IP address. */
async function bothAnswers(query: string, variables: Record<string, unknown>): Promise<[string, string]> {
  const responses = [];
  for (const address of [null, PRIVATE]) {
    resolveTo(address);
    responses.push((await graphql(app, query, { key: agent.key, variables })).text);
  }
  return responses as [string, string];
}

describe("an unknown name and a name of the internal network get the same response", () => {
  it("when an endpoint is created, or its URL is changed", async () => {
    const id = await newEndpoint();
    for (const [query, variables] of [
      [CREATE, { url: URL }],
      [UPDATE, { id, url: URL }],
    ] as const) {
      const [missing, internal] = await bothAnswers(query, variables);
      expect(missing).toContain("must name a public server");
      expect(internal).toBe(missing);
    }
  });

  // evidence: ssrf-name-existence-hidden
  it("when a test event is sent; only the log has the reason", async () => {
    const id = await newEndpoint();
    const before = log.length;
    const [missing, internal] = await bothAnswers(SEND, { id });
    expect(missing).toContain('"outcome":"dns"');
    expect(internal).toBe(missing);
    const rejected = log.slice(before).filter(({ host }) => host === "intranet.test");
    expect(rejected).toMatchObject([
      { reason: "not_found", addresses: [] },
      { reason: "not_public", addresses: [PRIVATE] },
    ]);
  });
});
