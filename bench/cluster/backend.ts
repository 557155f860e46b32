/** What a balancer sends requests to, and what it tells of those that it could not get answered. */
import type { Agent, IncomingMessage } from "node:http";

export interface Backend {
  readonly hostname: string;
  readonly port: number;
  readonly agent: Agent;
}

/** A request that the balancer answered itself, or cut, because a backend did not answer it. */
export interface UnansweredRequest {
  readonly method: string;
  readonly path: string;
  /** Null: none was ready. */
  readonly port: number | null;
  readonly reason: string;
}

export interface BalancerDeps {
  /** The one whose turn it is; null: none is ready. */
  readonly choose: () => Backend | null;
  readonly onUnanswered: (one: UnansweredRequest) => void;
}

/** Without its query, which may hold what a log should not. */
export function describeRequest({ method = "", url = "" }: IncomingMessage): {
  method: string;
  path: string;
} {
  return { method, path: url.split("?", 1)[0] ?? "" };
}
