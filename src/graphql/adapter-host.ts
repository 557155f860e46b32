/** What the HTTP app, an adapter of its own, lends to this one: handed over by the composition root. */
import type { RequestHandler, Response } from "express";
import type { AppError } from "../platform/errors.ts";
import type { AuthenticatedPrincipal } from "./principal.ts";

export interface AdapterHost {
  /** Reads a body of JSON in UTF-8, of at most so many bytes; anything else is an error. */
  readJson(limitBytes: number): RequestHandler;
  requestIdOf(response: Response): string;
  /** For the log line and the metrics. */
  setRoute(response: Response, route: string): void;
  setPrincipal(response: Response, holder: AuthenticatedPrincipal | null): void;
  /** For the organisation's log: the first error's code, and the answer. */
  setFailure(response: Response, failure: { code: string; answer: unknown }): void;
  /** Runs a call to another server. Meanwhile the request does not count as in flight. */
  duringExternalCall<Answer>(response: Response, call: () => Promise<Answer>): Promise<Answer>;
  /** What was thrown, as a failure that a caller can be told about. */
  toAppError(error: unknown): AppError;
}
