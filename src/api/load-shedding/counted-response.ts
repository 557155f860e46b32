/** A response whose request counts as in flight. */
import type { ServerResponse } from "node:http";

/** Property of each counted response. */
export const IN_FLIGHT = Symbol("in-flight");

export interface CountedResponse extends ServerResponse {
  [IN_FLIGHT]?: { withoutCounting<Result>(call: () => Promise<Result>): Promise<Result> };
}

/** Runs `call`. The request of `response` does not count as in flight meanwhile. */
export function withoutCounting<Result>(
  response: CountedResponse,
  call: () => Promise<Result>,
): Promise<Result> {
  return response[IN_FLIGHT]?.withoutCounting(call) ?? call();
}
