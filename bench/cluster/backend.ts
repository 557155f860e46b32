/** The interface between the balancer and its backends. */
import type { Agent, IncomingMessage } from "node:http";

export interface Backend {
  readonly hostname: string;
  readonly port: number;
  readonly agent: Agent;
}

/** A request that got an error from the balancer, or was cut off, because a backend did not answer it. */
export interface UnansweredRequest {
  readonly method: string;
  readonly path: string;
  /** Null if no backend was ready. */
  readonly port: number | null;
  readonly reason: string;
}

export interface BalancerDeps {
  /** Returns the next ready backend, or null if none is ready. */
  readonly choose: () => Backend | null;
  readonly onUnanswered: (one: UnansweredRequest) => void;
}

/** Returns method and path without the query, which may contain personal data. */
export function describeRequest({ method = "", url = "" }: IncomingMessage): {
  method: string;
  path: string;
} {
  return { method, path: url.split("?", 1)[0] ?? "" };
}
