/** The upper bound: signed POSTs through undici's pool, without a queue and without records. */
import pg from "pg";
import { Pool } from "undici";
import { sign } from "../../src/webhooks/dispatcher/sign-and-send.ts";
import { readMessages, readTargets, serveEngine, requireSetting } from "./harness.ts";
import { CONCURRENCY, type Message } from "./protocol.ts";

const pool = new pg.Pool({ connectionString: requireSetting("DATABASE_URL"), max: 1 });
const targets = await readTargets(pool);
const http = new Pool(new URL(targets[0]?.url ?? "").origin, { connections: CONCURRENCY, pipelining: 1 });
let backlog: Message[] = [];
let sending: Promise<unknown> = Promise.resolve();

async function sendSigned({ endpoint, id, body }: Message): Promise<void> {
  const timestampS = Math.floor(Date.now() / 1000);
  const target = targets[endpoint];
  if (!target) throw new Error(`Endpoint ${endpoint} does not exist`);
  const response = await http.request({
    method: "POST",
    path: new URL(target.url).pathname,
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(timestampS),
      "webhook-signature": sign(target.secrets, { id, timestampS, body }),
    },
    body,
  });
  await response.body.text();
}

async function run(): Promise<void> {
  for (let message = backlog.pop(); message; message = backlog.pop()) await sendSigned(message);
}

serveEngine({
  async fill(count) {
    backlog = [];
    for await (const messages of readMessages(pool, count)) backlog.push(...messages);
  },
  start() {
    sending = Promise.all(Array.from({ length: CONCURRENCY }, run));
    return Promise.resolve();
  },
  async stop() {
    await sending;
  },
});
