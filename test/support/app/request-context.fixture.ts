import type { ServerResponse } from "node:http";
import type { Response } from "express";
import { setContext } from "../../../src/http/context.ts";

/** Adds the request context that load shedding reads to a response created without Express. */
export function attachRequestContext(response: ServerResponse): void {
  const context = { requestId: "req_1", route: "/v1/jobs", principal: null, failure: null };
  setContext(Object.assign(response, { locals: {} }) as unknown as Response, context);
}
