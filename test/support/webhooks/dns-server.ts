/** A DNS server of a few lines: questions for A and AAAA over UDP, answered as a test says. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import ipaddr from "ipaddr.js";

export interface DnsQuestion {
  name: string;
  type: "A" | "AAAA";
  /** How often this name and type were asked for, this time included. */
  count: number;
}

/** Addresses of the question's family (none: the name has none of it), a failure, or silence. */
export type DnsAnswer = readonly string[] | "NXDOMAIN" | "SERVFAIL" | "silence";

export interface DnsServer extends AsyncDisposable {
  /** As `Resolver.setServers` takes it. */
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
    const count = questions.filter((asked) => asked.name === name && asked.type === type).length + 1;
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

/** RFC 1035, 4.1.2: labels with their lengths, type, class; `end` is where the question ends. */
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

/** A record that points back to the question's name, valid for no time at all. */
function toRecord(address: string): Buffer {
  const bytes = ipaddr.parse(address).toByteArray();
  const record = Buffer.alloc(12);
  record.writeUInt16BE(0xc000 | HEADER_BYTES, 0);
  record.writeUInt16BE(bytes.length === 4 ? 1 : 28, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt16BE(bytes.length, 10);
  return Buffer.concat([record, Buffer.from(bytes)]);
}
