/** Starts the receiver and the worker, and stops both on SIGINT (Ctrl+C) and SIGTERM. */
import { once } from "node:events";
import { Queue } from "./queue.ts";
import { createReceiver } from "./receiver.ts";
import { runWorker } from "./worker.ts";

const PURGE_INTERVAL_MS = 60 * 60 * 1_000;

const secrets = (process.env["WEBHOOK_SECRETS"] ?? "").split(",").filter((secret) => secret !== "");
if (secrets.length === 0 || secrets.some((secret) => !secret.startsWith("whsec_"))) {
  console.error(
    "Set WEBHOOK_SECRETS to the secret of the endpoint (whsec_…), or to two, separated by a comma",
  );
  process.exit(1);
}

const queue = new Queue(process.env["DATABASE"] ?? "events.sqlite");
const purgeTimer = setInterval(() => queue.purge(), PURGE_INTERVAL_MS);
const receiver = createReceiver(queue, secrets).listen(Number(process.env["PORT"] ?? 9000));
await once(receiver, "listening");
console.log("Listening on port", process.env["PORT"] ?? 9000);

const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stopping.abort());
const worker = runWorker(queue, stopping.signal);
if (!stopping.signal.aborted) await once(stopping.signal, "abort");

// Requests that have begun get their answer; Waymark sends all others again.
receiver.close();
receiver.closeIdleConnections();
await Promise.all([once(receiver, "close"), worker]);
clearInterval(purgeTimer);
queue.close();
console.log("Stopped");
