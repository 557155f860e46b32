/** Time limit for receiving a request. node:http has one limit for all, but an import may take longer than other requests. */
import type { IncomingMessage } from "node:http";

const deadlines = new WeakMap<IncomingMessage, NodeJS.Timeout>();

/** Calls `onTimeout` if the body has not arrived within `timeoutMs`, unless `allowLongUpload` is called before. */
export function limitRequestTime(request: IncomingMessage, timeoutMs: number, onTimeout: () => void): void {
  if (!hasBody(request)) return;
  const deadline = setTimeout(() => {
    if (!request.complete) onTimeout();
  }, timeoutMs).unref();
  deadlines.set(request, deadline);
  request.once("close", () => clearTimeout(deadline));
}

/** Lifts the limit of `limitRequestTime`; the server's own limit still applies. For authenticated requests only. */
export function allowLongUpload(request: IncomingMessage): void {
  clearTimeout(deadlines.get(request));
}

/** True if the headers announce a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}
