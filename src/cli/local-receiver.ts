/** A local webhook receiver: accepts requests with a valid signature and reports every request. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { StartupError } from "../platform/errors.ts";
import { type Verification, verify } from "../webhooks/api.ts";

export interface ReceivedEvent {
  receivedAt: Date;
  webhookId: string | null;
  verification: Verification;
  /** True if a verified request with the same `webhook-id` was received before. */
  isDuplicate: boolean;
  /** The parsed JSON body; null if it is not valid JSON. */
  event: unknown;
}

export interface LocalReceiver extends AsyncDisposable {
  readonly url: string;
  /** Sets the secret to verify with. Requests received before this call wait for it. */
  start(secret: string, onEvent: (event: ReceivedEvent) => void): void;
}

const MAX_BODY_BYTES = 1_048_576;
/** Number of most recent webhook ids kept to detect duplicates. */
const MAX_REMEMBERED_IDS = 10_000;

/** Listens on 127.0.0.1; port 0 picks a free port. Throws StartupError if the port cannot be opened. */
export async function openLocalReceiver(port: number): Promise<LocalReceiver> {
  const started = Promise.withResolvers<{ secret: string; onEvent: (event: ReceivedEvent) => void }>();
  const seen = new Set<string>();

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== "POST") return void response.writeHead(405, { allow: "POST" }).end();
    const body = await readBody(request);
    if (body === null) return void response.writeHead(413).end();
    const { secret, onEvent } = await started.promise;
    // Node joins the values of repeated headers, except those of set-cookie.
    const headers = request.headers as Readonly<Record<string, string | undefined>>;
    const verification = verify(secret, { headers, body });
    const webhookId = headers["webhook-id"] ?? null;
    const isDuplicate = webhookId !== null && seen.has(webhookId);
    if (webhookId !== null && verification.valid) remember(seen, webhookId);
    onEvent({ receivedAt: new Date(), webhookId, verification, isDuplicate, event: parseJsonOrNull(body) });
    // Reject unverified webhooks, as a real receiver should.
    response.writeHead(verification.valid ? 204 : 400).end();
  };

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (error) {
    const reason =
      (error as NodeJS.ErrnoException).code === "EADDRINUSE" ? "is already in use" : "cannot be opened";
    throw new StartupError(
      `Port ${port} ${reason}.`,
      "Choose another port with --port, or omit --port to use any free port.",
      error,
    );
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    start: (secret, onEvent) => started.resolve({ secret, onEvent }),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function remember(seen: Set<string>, id: string): void {
  const [oldest] = seen;
  if (seen.size >= MAX_REMEMBERED_IDS && oldest !== undefined) seen.delete(oldest);
  seen.add(id);
}

function parseJsonOrNull(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return null;
  }
}
