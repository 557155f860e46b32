/** The functions of the HTTP app that the GraphQL adapter uses. The composition root passes them in. */
import type { Request, RequestHandler, Response } from "express";
import type { AppError } from "../../core/errors.ts";
import type { RateLimitClass, RateLimitSubject } from "../../rate-limits/api.ts";
import type { SimulatedStatus } from "../../test-mode/api.ts";
import type { AuthenticatedPrincipal } from "./authenticated-principal.ts";

export interface AdapterHost {
  /** Parses a UTF-8 JSON body of at most `limitBytes`. Other bodies are rejected. */
  readJson(limitBytes: number): RequestHandler;
  contextOf(response: Response): HostContext;
  /** Runs a call to another server. The request does not count as in flight during the call, and lends its share. */
  duringExternalCall<Answer>(response: Response, call: () => Promise<Answer>): Promise<Answer>;
  /** Runs `work` in the share of the request's partner. Throws TooManyRequestsException. */
  inShare<Answer>(response: Response, kind: ShareKind, work: () => Promise<Answer>): Promise<Answer>;
  /**
   * Simulates what a test key asks for, after its rate limit. Throws the simulated failure. Returns true if the request is to be
   * handled, and false if its connection is closed.
   */
  simulate(request: Request, response: Response, simulated: SimulatedRequest): Promise<boolean>;
  /** Converts any thrown value to an error that is safe to return to the client. */
  toAppError(error: unknown): AppError;
}

/** A mutation that is not `bulk` is a `request`. */
export type ShareKind = "request" | "bulk" | "query";

interface SimulatedRequest {
  /** Uuid of the live organisation of the test key. */
  partner: string;
  subject: RateLimitSubject;
  kind: RateLimitClass;
  /** The statuses that the interface has. */
  statuses: readonly SimulatedStatus[];
  /** Verifies the key once more after a wait. Throws if it is no longer valid. */
  verifyAgain: () => Promise<unknown>;
}

/** What the HTTP app records of a request. */
interface HostContext {
  readonly requestId: string;
  /** Shown in the log line and the metrics. */
  route: string;
  principal: AuthenticatedPrincipal | null;
  /** The first error's code and the response body, for the organisation's request log. */
  failure: { code: string; responseBody: unknown } | null;
  /** The `X-Waymark-Simulate` header that was applied; null if none. */
  readonly simulated: string | null;
}
