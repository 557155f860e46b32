/**
 * The webhook receivers, in their own process. The URL path `/BEHAVIOUR/NUMBER` selects the behaviour. They count requests and
 * accepted events by `webhook-id`, and verify 1 % of the signatures.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { verify } from "../../src/webhooks/signing/signature.ts";
import type { Behaviour } from "./plan.ts";

export type ReceiversCommand = { do: "expect"; secrets: readonly string[] } | { do: "report" };

/** The counts of one endpoint. */
export interface ReceivedTotals {
  requests: number;
  /** How often each `webhook-id` was answered with 200. */
  accepted: Map<string, number>;
  wrongSignatures: number;
}

const SLOW_MS = 2_000;
/** A flaky receiver rejects the first attempt of every third event. */
const FLAKY_EVERY = 3;
/** A busy receiver answers 429 for `BUSY_MS` after every 200 requests, with `BUSY_S` as Retry-After. */
const BUSY_EVERY = 200;
const BUSY_MS = 1_000;
const BUSY_S = 2;
const CHECK_EVERY = 100;

const received = new Map<number, ReceivedTotals>();
const seen = new Map<number, Set<string>>();
const busyUntilMs = new Map<number, number>();
let secrets: readonly string[] = [];

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => handle(request, response, Buffer.concat(chunks)));
});

server.listen(0, "127.0.0.1", () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});

process.on("message", (command: ReceiversCommand) => {
  if (command.do === "expect") ({ secrets } = command);
  else process.send?.(received);
});
process.once("disconnect", () => {
  server.closeAllConnections();
  server.close();
});

interface ArrivedRequest {
  number: number;
  id: string;
  record: ReceivedTotals;
}

function handle(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  const [, behaviour, text] = request.url?.split("/") ?? [];
  const number = Number(text);
  const id = String(request.headers["webhook-id"]);
  const record = received.get(number) ?? { requests: 0, accepted: new Map(), wrongSignatures: 0 };
  received.set(number, record);
  record.requests += 1;
  if (record.requests % CHECK_EVERY === 0 && !isSigned(request, body, number)) record.wrongSignatures += 1;
  behaviours[behaviour as Behaviour]({ number, id, record }, response);
}

const accept = ({ id, record }: ArrivedRequest, response: ServerResponse): void => {
  // A connection that closed before the response was sent does not count as accepted.
  response.on("finish", () => record.accepted.set(id, (record.accepted.get(id) ?? 0) + 1));
  response.writeHead(200, { "content-type": "text/plain", "content-length": 2 }).end("ok");
};
const reject = (status: number, headers: Record<string, string>, response: ServerResponse): void =>
  void response.writeHead(status, { "content-length": 0, ...headers }).end();

const behaviours: Record<Behaviour, (arrived: ArrivedRequest, response: ServerResponse) => void> = {
  healthy: accept,
  flaky(arrived, response) {
    const ids = seen.get(arrived.number) ?? new Set();
    seen.set(arrived.number, ids);
    const isNew = !ids.has(arrived.id);
    ids.add(arrived.id);
    if (isNew && ids.size % FLAKY_EVERY === 0) reject(500, {}, response);
    else accept(arrived, response);
  },
  busy(arrived, response) {
    const { number, record } = arrived;
    if (record.requests % BUSY_EVERY === 0) busyUntilMs.set(number, Date.now() + BUSY_MS);
    if (Date.now() < (busyUntilMs.get(number) ?? 0)) reject(429, { "retry-after": String(BUSY_S) }, response);
    else accept(arrived, response);
  },
  slow: (arrived, response) => void setTimeout(() => accept(arrived, response), SLOW_MS),
  failing: (_arrived, response) => reject(500, {}, response),
  hanging: () => undefined,
  gone: (_arrived, response) => reject(410, {}, response),
};

function isSigned({ headers }: IncomingMessage, body: Buffer, number: number): boolean {
  return verify(secrets[number] ?? "", { headers: headers as Record<string, string>, body }).valid;
}
