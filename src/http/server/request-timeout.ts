/** How long a request may take to arrive: node:http knows one limit for all, and an import's file takes longer than others. */
import type { IncomingMessage } from "node:http";

const deadlines = new WeakMap<IncomingMessage, NodeJS.Timeout>();

/** Calls `onLate` unless the whole request has come within `timeoutMs`, or has been allowed longer. */
export function limitRequestTime(request: IncomingMessage, timeoutMs: number, onTimeout: () => void): void {
  if (!hasBody(request)) return;
  const deadline = setTimeout(() => {
    if (!request.complete) onTimeout();
  }, timeoutMs).unref();
  deadlines.set(request, deadline);
  request.once("close", () => clearTimeout(deadline));
}

/** For somebody who is known: only the limit of the server itself holds. */
export function allowLongUpload(request: IncomingMessage): void {
  clearTimeout(deadlines.get(request));
}

/** Whether its headers say that a body follows them. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}
