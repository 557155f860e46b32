/** Answers the requests of test keys as their header `X-Waymark-Simulate` says. */
import { setTimeout as delay } from "node:timers/promises";
import type { Request, Response } from "express";
import { InFlightLimit } from "../core/concurrency/in-flight-limit.ts";
import type { EventService } from "../events/api.ts";
import {
  exhaustLimit,
  type RateLimitClass,
  type RateLimits,
  type RateLimitSubject,
} from "../rate-limits/api.ts";
import {
  FEED_STATUS,
  parseSimulation,
  SIMULATE_HEADER,
  simulatedFailure,
  type SimulatedStatus,
} from "../test-mode/api.ts";
import { contextOf, disconnectSignal, duringExternalCall } from "./context.ts";

/** Per partner and process. They hold connections, which rate limits alone would bound at thousands. */
export const MAX_SLOW_REQUESTS = 20;

export interface SimulatedRequest {
  /** Uuid of the live organisation of the test key. */
  partner: string;
  subject: RateLimitSubject;
  kind: RateLimitClass;
  /** The statuses that the interface has. */
  statuses: readonly SimulatedStatus[];
  /** Verifies the key once more after a wait, during which it may have been revoked. Throws if it is no longer valid. */
  verifyAgain: () => Promise<unknown>;
}

/**
 * Call it for a test key after its rate limit. Throws the simulated failure, or BadRequestException for an unknown value. Returns
 * true if the request is to be handled, maybe after a wait or without an answer, and false if its connection is closed.
 */
export type Simulate = (
  request: Request,
  response: Response,
  simulated: SimulatedRequest,
) => Promise<boolean>;

interface SimulatorDeps {
  limits: RateLimits | null;
  events: Pick<EventService, "expiredCursor">;
  /** Ends waits. */
  stopping: AbortSignal;
}

export function createSimulator({ limits, events, stopping }: SimulatorDeps): Simulate {
  const slow = new InFlightLimit({ max: MAX_SLOW_REQUESTS, noun: "slow requests", retryAfterS: 5 });
  return async (request, response, { partner, subject, kind, statuses, verifyAgain }) => {
    const text = request.get(SIMULATE_HEADER);
    if (text === undefined) return true;
    const simulation = parseSimulation(text, statuses);
    const setSimulated = (): void => void (contextOf(response).simulated = text);
    if (simulation.kind === "slow") {
      await slow.run(partner, () => {
        setSimulated();
        return duringExternalCall(response, () => wait(simulation.ms, response, stopping));
      });
      if (request.socket.destroyed) return false;
      await verifyAgain();
      return true;
    }
    setSimulated();
    if (simulation.kind === "cut") {
      request.socket.destroy();
      return false;
    }
    if (simulation.kind === "cut_after") {
      // Every answer, also that of an error, ends here.
      response.end = () => {
        request.socket.destroy();
        return response;
      };
      return true;
    }
    const { status } = simulation;
    if (status === "429")
      throw await exhaustLimit(limits, subject, kind, (name, value) => response.setHeader(name, value));
    // The real ones come before the rate limit.
    if (status === "401" || status === "403") removeRateLimitHeaders(response);
    if (status === FEED_STATUS) throw await events.expiredCursor();
    throw simulatedFailure(status, request.get("if-match"));
  };
}

/** Ends early if the client disconnects or `stopping` aborts. */
async function wait(ms: number, response: Response, stopping: AbortSignal): Promise<void> {
  const signal = AbortSignal.any([disconnectSignal(response), stopping]);
  await delay(ms, undefined, { signal }).catch(() => undefined);
}

function removeRateLimitHeaders(response: Response): void {
  for (const name of response.getHeaderNames()) if (name.includes("ratelimit")) response.removeHeader(name);
}
