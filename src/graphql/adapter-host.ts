/** The functions of the HTTP app that the GraphQL adapter uses. The composition root passes them in. */
import type { RequestHandler, Response } from "express";
import type { AppError } from "../platform/errors.ts";
import type { AuthenticatedPrincipal } from "./authenticated-principal.ts";

export interface AdapterHost {
  /** Parses a UTF-8 JSON body of at most `limitBytes`. Other bodies are rejected. */
  readJson(limitBytes: number): RequestHandler;
  contextOf(response: Response): HostContext;
  /** Runs a call to another server. The request does not count as in flight during the call. */
  duringExternalCall<Answer>(response: Response, call: () => Promise<Answer>): Promise<Answer>;
  /** Converts any thrown value to an error that is safe to return to the client. */
  toAppError(error: unknown): AppError;
}

/** What the HTTP app records of a request. */
interface HostContext {
  readonly requestId: string;
  /** Shown in the log line and the metrics. */
  route: string;
  principal: AuthenticatedPrincipal | null;
  /** The first error's code and the response body, for the organisation's request log. */
  failure: { code: string; responseBody: unknown } | null;
}
