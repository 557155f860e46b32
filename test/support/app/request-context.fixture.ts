import type { ServerResponse } from "node:http";
import type { Response } from "express";
import { setContext } from "../../../src/http/context.ts";

/** Gives a response that Express has not seen what the overload protection reads of it. */
export function attachRequestContext(response: ServerResponse): void {
  const context = { requestId: "req_1", route: "/v1/jobs", principal: null, failure: null };
  setContext(Object.assign(response, { locals: {} }) as unknown as Response, context);
}
