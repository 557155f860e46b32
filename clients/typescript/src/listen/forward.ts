/** Posts an event to the developer's machine as a webhook. */
import { sleep } from "../retry.ts";
import type { Event } from "../generated/api.ts";
import { sign } from "../signature.ts";

const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 30_000;
/** As long as Waymark waits for a receiver. */
const TIMEOUT_MS = 15_000;

export interface ForwardOptions {
  url: string;
  secret: string;
  signal: AbortSignal;
  /** Prints a line for the user. */
  print: (line: string) => void;
}

/** Posts `event` until the receiver answers, and prints the status. Rejects with the signal's reason when `signal` aborts. */
export async function forward(event: Event, options: ForwardOptions): Promise<void> {
  const { url, signal, print } = options;
  const line = describe(event);
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(MAX_DELAY_MS, delayMs * 2)) {
    const started = performance.now();
    const outcome = await post(event, options);
    signal.throwIfAborted();
    if (typeof outcome === "number") {
      print(`${outcome}  ${line}  ${Math.round(performance.now() - started)} ms`);
      return;
    }
    if (outcome.isFinal) {
      print(`---  ${line}  ${outcome.problem}`);
      return;
    }
    print(`---  ${line}  ${url} ${outcome.problem}. Trying again in ${delayMs / 1_000} s.`);
    await sleep(delayMs, signal);
  }
}

/** Returns the type of the event, the Marking Number and the ID. */
export function describe({ type, id, data }: Event): string {
  return `${type}  ${printable(data.job.marking_number)}  ${id}`;
}

/** Shows control characters, which a terminal would run as commands, by their code points. */
export function printable(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/** Returns the status, or why there is none. `isFinal`: the receiver may have handled the event. */
async function post(event: Event, { url, secret, signal }: ForwardOptions) {
  const body = new TextEncoder().encode(JSON.stringify(event));
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const headers = {
    "content-type": "application/json",
    "user-agent": "Waymark-Webhooks/1.0",
    "webhook-id": event.id,
    "webhook-timestamp": timestamp,
    "webhook-signature": await sign(secret, { id: event.id, timestamp, body }),
  };
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const init = { method: "POST", headers, body, redirect: "manual" } as const;
    const response = await fetch(url, { ...init, signal: AbortSignal.any([signal, timeout]) });
    await response.body?.cancel();
    return response.status;
  } catch (error) {
    if (timeout.aborted) return { isFinal: true, problem: `no answer within ${TIMEOUT_MS / 1_000} s` };
    const cause = (error as Error).cause as { code?: string; message?: string } | undefined;
    if (cause?.code === "ECONNREFUSED")
      return { isFinal: false, problem: "refuses connections: start your receiver" };
    return { isFinal: false, problem: `can't be reached: ${cause?.message ?? (error as Error).message}` };
  }
}
