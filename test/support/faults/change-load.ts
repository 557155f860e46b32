/** Changes of jobs that go on while something breaks, at a bounded rate, and receivers that hold their answers back. */
import type { ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished, vi } from "vitest";
import type { ReceivedRequest, ReceiverReply, ReceiverResponder } from "../webhooks/receiver.ts";
import type { ServerProcess } from "../processes/server-process.ts";

/** The machine may be busy with other things. */
const TIMEOUT_MS = 60_000;

/** Waits for as long as is reasonable, or `timeoutMs`. */
export function eventually<T>(poll: () => T | Promise<T>, timeoutMs = TIMEOUT_MS): Promise<T> {
  return vi.waitFor(poll, { timeout: timeoutMs, interval: 20 });
}

export interface ChangeLoad {
  /** How many changes were answered with success. */
  doneCount(): number;
  /** Resolves once so many more have been. */
  waitForMore(count: number): Promise<void>;
  /** Resolves once the last change has been answered. */
  stop(): Promise<void>;
}

/** At most this many changes under way, and so many milliseconds between two of one lane. */
const CONCURRENCY = 3;
const PAUSE_MS = 60;

/**
 * `change` gets a Marking Number and a value that no other change has; false: it failed, and is nobody's concern. A longer
 * pause is for tests whose load goes on while nobody delivers: what piles up has to be delivered afterwards.
 */
export function startChangeLoad(
  markingNumbers: readonly string[],
  change: (markingNumber: string, value: number) => Promise<boolean>,
  betweenMs = PAUSE_MS,
): ChangeLoad {
  const stopping = new AbortController();
  let [made, done] = [0, 0];
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      made += 1;
      const markingNumber = markingNumbers[made % markingNumbers.length] as string;
      if (await change(markingNumber, made).catch(() => false)) done += 1;
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
    doneCount: () => done,
    async waitForMore(count) {
      const wanted = done + count;
      await eventually(() => {
        if (done < wanted) throw new Error(`${done} of ${wanted} changes were made`);
      });
    },
    stop,
  };
}

export interface ResponseGate {
  readonly respond: ReceiverResponder;
  /** Requests whose answer is held back. */
  blockedCount(): number;
  /** Answers what is held, by the number of the request from 0, and lets everything pass from now on. */
  release(reply?: (at: number) => ReceiverReply): void;
  /** Lets everything that comes from now on pass, and goes on holding what is held. */
  passNew(): void;
  /** Holds back what comes from now on. */
  block(): void;
}

/** A receiver's answers, which pass until it is closed. */
export function createResponseGate(): ResponseGate {
  const waiting: ((reply: ReceiverReply) => void)[] = [];
  let isPassing = true;
  return {
    respond: () => (isPassing ? {} : new Promise<ReceiverReply>((resolve) => waiting.push(resolve))),
    blockedCount: () => waiting.length,
    release(reply = () => ({})) {
      isPassing = true;
      for (const [at, answer] of waiting.splice(0).entries()) answer(reply(at));
    },
    passNew() {
      isPassing = true;
    },
    block() {
      isPassing = false;
    },
  };
}

/** Its first request is answered so, the others with 200. */
export function firstResponse(answer: ReceiverResponder): ReceiverResponder {
  let count = 0;
  return (received, response) => {
    count += 1;
    return count === 1 ? answer(received, response) : {};
  };
}

/** 200, and then a body that comes in pieces of `bytes` every `everyMs`, for as long as anybody listens. */
export function endlessBody(bytes: number, everyMs: number): ReceiverResponder {
  return (_received, response: ServerResponse): undefined => {
    response.writeHead(200);
    const timer = setInterval(() => response.write("x".repeat(bytes)), everyMs);
    response.on("close", () => clearInterval(timer));
  };
}

/** Answers the first request for every third event with 500: some must be sent again, and never so many that a circuit opens. */
export function failEveryThird(): ReceiverResponder {
  const seen = new Set<string>();
  return ({ headers }: ReceivedRequest) => {
    const id = String(headers["webhook-id"]);
    const isNew = !seen.has(id);
    seen.add(id);
    return isNew && seen.size % 3 === 0 ? { status: 500 } : {};
  };
}

/** The sum of a metric of the server over the lines that contain `label`. */
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

/** The status of a server's readiness. */
export async function readinessStatus({ url }: Pick<ServerProcess, "url">): Promise<number> {
  return (await fetch(`${url}/health/ready`)).status;
}
