/** A continuous load of job changes for fault tests, and responders that make webhook receivers slow or faulty. */
import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { ReceivedRequest, ReceiverReply, ReceiverResponder } from "../webhooks/receiver.ts";
import { eventually } from "../eventually.ts";
import type { ServerProcess } from "../processes/server-process.ts";

/** Concurrent loops of changes, and the pause between two changes of a loop. */
const CONCURRENCY = 3;
const PAUSE_MS = 60;

/**
 * Starts the load and stops it at the end of the test. `change` gets a Marking Number and a unique value, and returns false
 * or throws if the change failed. Use a longer pause if no worker runs meanwhile, to limit the backlog.
 */
export function startChangeLoad(
  markingNumbers: readonly string[],
  change: (markingNumber: string, value: number) => Promise<boolean>,
  betweenMs = PAUSE_MS,
) {
  const stopping = new AbortController();
  let [startedCount, done] = [0, 0];
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      startedCount += 1;
      const markingNumber = markingNumbers[startedCount % markingNumbers.length] as string;
      if (await change(markingNumber, startedCount).catch(() => false)) done += 1;
      await pause(betweenMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const loops = Array.from({ length: CONCURRENCY }, loop);
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all(loops);
  };
  onTestFinished(stop);
  return {
    /** Number of successful changes. */
    doneCount: () => done,
    /** Resolves after `count` more successful changes. */
    async waitForMore(count: number) {
      const wanted = done + count;
      await eventually(() => {
        if (done < wanted) throw new Error(`${done} of ${wanted} changes have succeeded`);
      });
    },
    /** Resolves after the response to the last change. */
    stop,
  };
}

/** Creates an open gate that can block a receiver's responses. */
export function createResponseGate() {
  const blocked: ((reply: ReceiverReply) => void)[] = [];
  let isPassing = true;
  return {
    respond: (): ReturnType<ReceiverResponder> =>
      isPassing ? {} : new Promise<ReceiverReply>((resolve) => blocked.push(resolve)),
    /** Requests waiting for their response. */
    blockedCount: () => blocked.length,
    /** Sends the blocked responses, chosen by the request's index, and opens the gate. */
    release(reply: (index: number) => ReceiverReply = () => ({})) {
      isPassing = true;
      for (const [index, respond] of blocked.splice(0).entries()) respond(reply(index));
    },
    /** Opens the gate for new requests and keeps blocking the waiting ones. */
    passNew() {
      isPassing = true;
    },
    block() {
      isPassing = false;
    },
  };
}

/** Returns 500 for the first attempt of every third event: causes retries, but too few to open the endpoint's circuit. */
export function failEveryThird(): ReceiverResponder {
  const seen = new Set<string>();
  return ({ headers }: ReceivedRequest) => {
    const id = String(headers["webhook-id"]);
    const isNew = !seen.has(id);
    seen.add(id);
    return isNew && seen.size % 3 === 0 ? { status: 500 } : {};
  };
}

/** Returns the sum of a metric over all lines that contain `label`. */
export async function sumMetric(
  { url }: Pick<ServerProcess, "url">,
  name: string,
  label = "",
): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return text
    .split("\n")
    .filter((line) => line.startsWith(name) && line.includes(label))
    .map((line) => Number(line.split(" ").at(-1)))
    .reduce((sum, value) => sum + value, 0);
}

/** Returns the HTTP status of /health/ready. */
export async function readinessStatus({ url }: Pick<ServerProcess, "url">): Promise<number> {
  return (await fetch(`${url}/health/ready`)).status;
}
