import { Resolver } from "node:dns/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createAddressGuard, type AddressGuard } from "../../src/platform/http-client/address-guard.ts";
import { createDnsResolver } from "../../src/platform/http-client/dns-resolver.ts";
import { createHttpClient, type HttpClient } from "../../src/platform/http-client/client.ts";
import {
  startDnsServer,
  type DnsAnswer,
  type DnsQuestion,
  type DnsServer,
} from "../support/webhooks/dns-server.ts";
import { selfSignedCertificate } from "../support/webhooks/self-signed-certificate.ts";
import { startTestReceiver, type TestReceiver } from "../support/webhooks/receiver.ts";

const PUBLIC = "93.184.216.34";
const NONE: DnsAnswer = [];

/** Answers for A as given, and no AAAA. */
const onlyA =
  (answer: (count: number) => DnsAnswer) =>
  ({ type, count }: DnsQuestion): DnsAnswer =>
    type === "A" ? answer(count) : NONE;

describe("a name's addresses, from a real DNS server", () => {
  let answer: (question: DnsQuestion) => DnsAnswer;
  let dns: DnsServer;
  let receiver: TestReceiver;
  let http: HttpClient;

  const guardOf = (allowPrivate: boolean, timeoutMs = 4_000): AddressGuard => {
    const resolver = new Resolver({ timeout: 500, tries: 2 });
    resolver.setServers([dns.address]);
    return createAddressGuard({ allowPrivate, resolve: createDnsResolver({ resolver, timeoutMs }) });
  };
  const httpOf = (guard: AddressGuard): HttpClient =>
    (http = createHttpClient({ guard, ca: selfSignedCertificate.cert }));
  const post = (url: string) => http.post({ url, headers: {}, body: "{}" });

  beforeEach(async () => {
    dns = await startDnsServer((question) => answer(question));
    receiver = await startTestReceiver({ tls: selfSignedCertificate });
  });
  afterEach(async () => {
    await http?.[Symbol.asyncDispose]();
    await receiver[Symbol.asyncDispose]();
    await dns[Symbol.asyncDispose]();
  });

  // evidence: ssrf-dns-rebinding-blocked
  it("that was public when the endpoint was saved and is loopback at the connect is not connected to", async () => {
    answer = onlyA((count) => [count === 1 ? PUBLIC : "127.0.0.1"]);
    const guard = guardOf(false);
    const url = `https://receiver.test:${receiver.port}/webhooks`;
    expect(await guard.checkUrl(url)).toEqual({ allowed: true, url });

    httpOf(guard);
    const result = await post(url);
    expect(result).toMatchObject({ kind: "failure", class: "dns" });
    expect(JSON.stringify(result)).not.toContain("127.0.0.1");
    expect(receiver.connections.opened).toBe(0);
  });

  it("is asked for once for each connect, and the answer that was checked is the one that is connected to", async () => {
    answer = onlyA((count) => [count === 1 ? "127.0.0.1" : "169.254.169.254"]);
    httpOf(guardOf(true));
    const url = `https://receiver.test:${receiver.port}/webhooks`;
    expect(await post(url)).toMatchObject({ kind: "response", status: 200 });
    expect(dns.questions).toHaveLength(2);
    expect(await post(url)).toMatchObject({ kind: "response", status: 200 });
    expect(dns.questions).toHaveLength(2);

    receiver.dropConnections();
    await expect.poll(() => http.poolStats.open, { timeout: 10_000 }).toBe(0);
    expect(await post(url)).toMatchObject({ kind: "failure", class: "dns" });
    expect(receiver.received).toHaveLength(2);
  });

  // evidence: ssrf-mixed-dns-answer-blocked
  it("is refused where a single answer among public ones is not public", async () => {
    answer = ({ type }) => (type === "A" ? [PUBLIC, "8.8.8.8"] : ["2606:2800:220::1", "::ffff:10.0.0.1"]);
    expect(await guardOf(false).checkUrl("https://receiver.test/")).toMatchObject({
      problem: "unresolvable",
    });
    answer = ({ type }) => (type === "A" ? [PUBLIC, "8.8.8.8"] : ["2606:2800:220::1"]);
    expect(await guardOf(false).checkUrl("https://receiver.test/")).toMatchObject({ allowed: true });
  });

  it("is never asked for where it is localhost, whatever DNS would say", async () => {
    answer = onlyA(() => [PUBLIC]);
    expect(await guardOf(false).checkUrl("https://api.localhost/")).toMatchObject({
      problem: "blocked_address",
    });
    httpOf(guardOf(true));
    expect(await post(`https://localhost:${receiver.port}/`)).toMatchObject({ kind: "response" });
    expect(dns.questions).toEqual([]);
  });

  it.each([
    ["no such name", "NXDOMAIN"],
    ["no address", NONE],
    ["a failure", "SERVFAIL"],
    ["silence", "silence"],
    ["a private IP address", ["10.0.0.7"]],
  ] as const)("with %s is a failure of class dns, in the same words", async (_, given) => {
    answer = ({ type }) => (type === "A" || typeof given === "string" ? given : NONE);
    httpOf(guardOf(false, 300));
    const { durationMs: _ms, ...result } = await post("https://receiver.test/");
    expect(result).toEqual({
      kind: "failure",
      class: "dns",
      message:
        "The endpoint's URL must name a public server: the name does not resolve, or not only to public IP " +
        "addresses. Check its spelling and its DNS records.",
    });
  });

  it("is used with what came in time where one family stays silent", async () => {
    answer = ({ type }) => (type === "A" ? ["127.0.0.1"] : "silence");
    httpOf(guardOf(true, 1_000));
    expect(await post(`https://receiver.test:${receiver.port}/`)).toMatchObject({ kind: "response" });
  });

  it("is asked for once where many connects want it at the same time", async () => {
    answer = onlyA(() => ["127.0.0.1"]);
    httpOf(guardOf(true));
    const url = `https://receiver.test:${receiver.port}/webhooks`;
    const results = await Promise.all(Array.from({ length: 20 }, () => post(url)));
    expect(results.map(({ kind }) => kind)).toEqual(Array.from({ length: 20 }, () => "response"));
    expect(dns.questions).toHaveLength(2);
  });
});

describe("an address in the URL itself", () => {
  it.each([
    "https://127.0.0.1:PORT/",
    "https://2130706433:PORT/",
    "https://[::ffff:7f00:1]:PORT/",
    "https://localhost.:PORT/",
  ])("%s is checked at every post, also where nobody checked it before", async (pattern) => {
    await using receiver = await startTestReceiver({ tls: selfSignedCertificate });
    await using http = createHttpClient({
      guard: createAddressGuard({ allowPrivate: false }),
      ca: selfSignedCertificate.cert,
    });
    const url = pattern.replace("PORT", String(receiver.port));
    for (const attempt of [1, 2])
      expect(await http.post({ url, headers: {}, body: String(attempt) })).toMatchObject({
        class: "blocked_address",
      });
    expect(receiver.connections.opened).toBe(0);
  });

  // evidence: ssrf-checked-at-connect
  it("is checked again at the connect itself", async () => {
    await using receiver = await startTestReceiver({ tls: selfSignedCertificate });
    const guard = createAddressGuard({ allowPrivate: false });
    await using http = createHttpClient({
      guard: { ...guard, urlProblem: () => null },
      ca: selfSignedCertificate.cert,
    });
    expect(await http.post({ url: receiver.url, headers: {}, body: "" })).toMatchObject({
      class: "blocked_address",
    });
    expect(receiver.connections.opened).toBe(0);
  });

  it.each(["http://example.com/", "https://user:secret@example.com/", "nonsense"])(
    "%s is refused",
    async (url) => {
      await using http = createHttpClient({ guard: createAddressGuard({ allowPrivate: false }) });
      expect(await http.post({ url, headers: {}, body: "" })).toMatchObject({
        class: "blocked_address",
        durationMs: 0,
      });
    },
  );
});
