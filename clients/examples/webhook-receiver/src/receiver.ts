/** The HTTP server: verifies each request, stores its event, and answers. The work is done later. */
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type Event, verifyWebhook, WebhookVerificationError } from "@waymark/client";
import type { Queue } from "./queue.ts";

const PATH = "/webhooks";
const MAX_BYTES = 1024 * 1024;

/** `secrets`: of the endpoint. Two while you rotate the secret. */
export function createReceiver(queue: Queue, secrets: readonly string[]): Server {
  return createServer((request, response) => {
    void receive(request, queue, secrets).then((status) => {
      if (status === 405) response.setHeader("allow", "POST");
      if (status !== 204) response.setHeader("connection", "close");
      return response.writeHead(status).end();
    });
  });
}

/** Returns the status to answer with. */
async function receive(request: IncomingMessage, queue: Queue, secrets: readonly string[]): Promise<number> {
  if (request.url?.split("?")[0] !== PATH) return 404;
  if (request.method !== "POST") return 405;
  try {
    const body = await readBody(request);
    if (body === null) return 413;
    const event = await verifyWebhook(body, request.headers, secrets);
    const { job = null, sequence = 0 } = event.data as Partial<Event["data"]>;
    const webhookId = String(request.headers["webhook-id"]);
    const isNew = queue.store({ webhookId, jobId: job?.id ?? null, sequence, body: body.toString() });
    console.log(isNew ? "Stored" : "Known", webhookId, event.type);
    return 204;
  } catch (error) {
    const isForged = error instanceof WebhookVerificationError;
    console.error(isForged ? "Rejected:" : "Not stored:", error);
    // After 500 Waymark sends the event again.
    return isForged ? 400 : 500;
  }
}

/** Returns the raw bytes, which are signed, or null if there are too many. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
