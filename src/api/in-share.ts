/** Handles a request in the share of its partner. */
import type { ServerResponse } from "node:http";
import type { Response } from "express";
import { partnerOf } from "../core/principal.ts";
import { contextOf } from "./context.ts";
import type { ShareKind } from "./partner-shares.ts";

/** Property of each response whose request counts as in flight: the set of these responses. */
export const IN_FLIGHT = Symbol("in-flight");

export type CountedResponse = ServerResponse & { [IN_FLIGHT]?: Set<ServerResponse> };

/** Runs `call`. The request of `response` does not count as in flight meanwhile. */
async function withoutCounting<Result>(
  response: CountedResponse,
  call: () => Promise<Result>,
): Promise<Result> {
  const inFlight = response[IN_FLIGHT];
  // It is not counted already, because of another call.
  if (!inFlight?.delete(response)) return await call();
  try {
    return await call();
  } finally {
    if (!response.writableEnded && !response.destroyed) inFlight.add(response);
  }
}

/**
 * Runs `work` for the request of `response` once the share of its partner allows it. Throws as `PartnerShares.run`. Requests without
 * a principal have no share. Call it after the whole body has arrived.
 */
export async function inShare<T>(response: Response, kind: ShareKind, work: () => Promise<T>): Promise<T> {
  const context = contextOf(response);
  const { principal, shares } = context;
  if (!principal) return await work();
  const awaitTurn = (turn: Promise<void>): Promise<void> => withoutCounting(response, () => turn);
  return await shares.run({ partnerId: partnerOf(principal), kind, awaitTurn }, (share) => {
    context.share = share;
    return work();
  });
}

/** Runs `call`, a request to another server. The request of `response` does not count as in flight meanwhile, and lends its share. */
export async function duringExternalCall<T>(response: Response, call: () => Promise<T>): Promise<T> {
  const { share } = contextOf(response);
  const uncounted = (): Promise<T> => withoutCounting(response, call);
  return await (share ? share.lend(uncounted) : uncounted());
}
