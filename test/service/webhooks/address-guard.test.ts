import { Resolver } from "node:dns/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AddressGuard } from "../../../src/core/http-client/address-guard.ts";
import { createDnsResolver } from "../../../src/core/http-client/dns-resolver.ts";
import { HttpClient } from "../../../src/core/http-client/client.ts";
import { selfSignedCertificate } from "../../support/webhooks/self-signed-certificate.ts";
import { startTestReceiver, type TestReceiver } from "../../support/webhooks/receiver.ts";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import ipaddr from "ipaddr.js";

interface DnsQuestion {
  name: string;
  type: "A" | "AAAA";
  /** Number of queries for this name and type so far, including this one. */
  count: number;
}

/** IP addresses of the queried family, an error code, or no response. */
type DnsAnswer = readonly string[] | "NXDOMAIN" | "SERVFAIL" | "silence";

interface DnsServer extends AsyncDisposable {
  /** `host:port`, for `Resolver.setServers`. */
  readonly address: string;
  readonly questions: DnsQuestion[];
}

const HEADER_BYTES = 12;
const TYPES = { 1: "A", 28: "AAAA" } as const;
const CODES = { NXDOMAIN: 3, SERVFAIL: 2 } as const;

async function startDnsServer(answer: (question: DnsQuestion) => DnsAnswer): Promise<DnsServer> {
  const socket = createSocket("udp4");
  const questions: DnsQuestion[] = [];
  socket.on("message", (query, { port, address }) => {
    const { name, type, end } = readQuestion(query);
    const count = questions.filter((earlier) => earlier.name === name && earlier.type === type).length + 1;
    const question = { name, type, count };
    questions.push(question);
    const result = answer(question);
    if (result !== "silence") socket.send(reply(query.subarray(0, end), result), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, "close");
    },
  };
}

/** Parses a question section (RFC 1035, 4.1.2). `end` is the offset after it. */
function readQuestion(query: Buffer): { name: string; type: "A" | "AAAA"; end: number } {
  const labels: string[] = [];
  let offset = HEADER_BYTES;
  for (let length = query.readUInt8(offset); length > 0; length = query.readUInt8(offset)) {
    labels.push(query.toString("ascii", offset + 1, offset + 1 + length));
    offset += 1 + length;
  }
  const type = TYPES[query.readUInt16BE(offset + 1) as keyof typeof TYPES];
  return { name: labels.join(".").toLowerCase(), type, end: offset + 5 };
}

function reply(question: Buffer, result: Exclude<DnsAnswer, "silence">): Buffer {
  const head = Buffer.from(question);
  const addresses = typeof result === "string" ? [] : result;
  head.writeUInt16BE(0x8180 | (typeof result === "string" ? CODES[result] : 0), 2);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8); // no authority and, unlike the query, no additional records
  return Buffer.concat([head, ...addresses.map(toRecord)]);
}

/** Returns a record with TTL 0 and a pointer to the question's name. */
function toRecord(address: string): Buffer {
  const bytes = ipaddr.parse(address).toByteArray();
  const record = Buffer.alloc(12);
  record.writeUInt16BE(0xc000 | HEADER_BYTES, 0);
  record.writeUInt16BE(bytes.length === 4 ? 1 : 28, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt16BE(bytes.length, 10);
  return Buffer.concat([record, Buffer.from(bytes)]);
}

const PUBLIC = "93.184.216.34";
const NONE: DnsAnswer = [];

/** Responds to A queries with the given records, and to AAAA with none. */
const onlyA =
  (answer: (count: number) => DnsAnswer) =>
  ({ type, count }: DnsQuestion): DnsAnswer =>
    type === "A" ? answer(count) : NONE;

describe("a host name, resolved by a real DNS server,", () => {
  let answer: (question: DnsQuestion) => DnsAnswer;
  let dns: DnsServer;
  let receiver: TestReceiver;
  let http: HttpClient;

  const guardOf = (allowPrivate: boolean, timeoutMs = 20_000): AddressGuard => {
    // It sends a query once: on a busy machine, a repetition would count as a second question.
    const resolver = new Resolver({ timeout: 20_000, tries: 1 });
    resolver.setServers([dns.address]);
    return new AddressGuard({ allowPrivate, resolve: createDnsResolver({ resolver, timeoutMs }) });
  };
  const httpOf = (guard: AddressGuard): HttpClient =>
    (http = new HttpClient({
      guard,
      ca: selfSignedCertificate.cert,
      limits: { connectMs: 20_000, totalMs: 20_000 },
    }));
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
  it("is not connected to if it was public on saving and is loopback on connecting", async () => {
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

  it("is resolved once per connection, and the checked IP address is used", async () => {
    answer = onlyA((count) => [count === 1 ? "127.0.0.1" : "169.254.169.254"]);
    httpOf(guardOf(true));
    const url = `https://receiver.test:${receiver.port}/webhooks`;
    expect(await post(url)).toMatchObject({ kind: "response", status: 200 });
    expect(dns.questions).toHaveLength(2);
    expect(await post(url)).toMatchObject({ kind: "response", status: 200 });
    expect(dns.questions).toHaveLength(2);

    receiver.dropConnections();
    await expect.poll(() => receiver.connections.open).toBe(0);
    expect(await post(url)).toMatchObject({ kind: "failure", class: "dns" });
    expect(receiver.received).toHaveLength(2);
  });

  // evidence: ssrf-mixed-dns-answer-blocked
  it("is rejected if one of its IP addresses is not public", async () => {
    answer = ({ type }) => (type === "A" ? [PUBLIC, "8.8.8.8"] : ["2606:2800:220::1", "::ffff:10.0.0.1"]);
    expect(await guardOf(false).checkUrl("https://receiver.test/")).toMatchObject({
      problem: "unresolvable",
    });
    answer = ({ type }) => (type === "A" ? [PUBLIC, "8.8.8.8"] : ["2606:2800:220::1"]);
    expect(await guardOf(false).checkUrl("https://receiver.test/")).toMatchObject({ allowed: true });
  });

  it("is not resolved if it is localhost", async () => {
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
  ] as const)("with %s fails with the class dns and the same message", async (_, given) => {
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

  it("is used with the records of one family if the other query times out", async () => {
    answer = ({ type }) => (type === "A" ? ["127.0.0.1"] : "silence");
    httpOf(guardOf(true, 2_000));
    expect(await post(`https://receiver.test:${receiver.port}/`)).toMatchObject({ kind: "response" });
  });

  it("is resolved once for concurrent connections", async () => {
    answer = onlyA(() => ["127.0.0.1"]);
    httpOf(guardOf(true));
    const url = `https://receiver.test:${receiver.port}/webhooks`;
    const results = await Promise.all(Array.from({ length: 20 }, () => post(url)));
    expect(results.map(({ kind }) => kind)).toEqual(Array.from({ length: 20 }, () => "response"));
    expect(dns.questions).toHaveLength(2);
  });
});

describe("an IP address in the URL", () => {
  it.each([
    "https://127.0.0.1:PORT/",
    "https://2130706433:PORT/",
    "https://[::ffff:7f00:1]:PORT/",
    "https://localhost.:PORT/",
  ])("%s is checked at every request", async (pattern) => {
    await using receiver = await startTestReceiver({ tls: selfSignedCertificate });
    await using http = new HttpClient({
      guard: new AddressGuard({ allowPrivate: false }),
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
  it("is checked again on connecting", async () => {
    await using receiver = await startTestReceiver({ tls: selfSignedCertificate });
    const guard = Object.assign(new AddressGuard({ allowPrivate: false }), { urlProblem: () => null });
    await using http = new HttpClient({ guard, ca: selfSignedCertificate.cert });
    expect(await http.post({ url: receiver.url, headers: {}, body: "" })).toMatchObject({
      class: "blocked_address",
    });
    expect(receiver.connections.opened).toBe(0);
  });

  it.each(["http://example.com/", "https://user:secret@example.com/", "nonsense"])(
    "%s is rejected",
    async (url) => {
      await using http = new HttpClient({ guard: new AddressGuard({ allowPrivate: false }) });
      expect(await http.post({ url, headers: {}, body: "" })).toMatchObject({
        class: "blocked_address",
        durationMs: 0,
      });
    },
  );
});
