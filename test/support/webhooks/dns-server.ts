/** A minimal DNS server for A and AAAA queries over UDP, with responses chosen by the test. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import ipaddr from "ipaddr.js";

export interface DnsQuestion {
  name: string;
  type: "A" | "AAAA";
  /** Number of queries for this name and type so far, including this one. */
  count: number;
}

/** IP addresses of the queried family, an error code, or no response. */
export type DnsAnswer = readonly string[] | "NXDOMAIN" | "SERVFAIL" | "silence";

export interface DnsServer extends AsyncDisposable {
  /** `host:port`, for `Resolver.setServers`. */
  readonly address: string;
  readonly questions: DnsQuestion[];
}

const HEADER_BYTES = 12;
const TYPES = { 1: "A", 28: "AAAA" } as const;
const CODES = { NXDOMAIN: 3, SERVFAIL: 2 } as const;

export async function startDnsServer(answer: (question: DnsQuestion) => DnsAnswer): Promise<DnsServer> {
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
