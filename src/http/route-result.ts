/** Route handlers that return their result as data, so that it can be stored for an Idempotency-Key. */
import type { Request, RequestHandler, Response } from "express";
import type { Transaction } from "../platform/postgres/database.ts";
import { sendSuccess } from "./envelope.ts";

export interface RouteResult {
  data: unknown;
  headers?: Record<string, string>;
  /** True to send 304 with the headers and no body, because the client has this version. */
  isNotModified?: boolean;
}

export type RouteHandler = (request: Request, response: Response) => Promise<RouteResult>;

export interface ChangeResult extends RouteResult {
  /** False if the request changed nothing: a dry run, or new values equal to the old ones. */
  changed: boolean;
}

/** A route that changes data. If `tx` is given, it must use no other connection. */
export type ChangeHandler = (request: Request, response: Response, tx?: Transaction) => Promise<ChangeResult>;

export function toRequestHandler(handler: RouteHandler, status: 200 | 202 = 200): RequestHandler {
  return async (request, response) => {
    const { data, headers = {}, isNotModified = false } = await handler(request, response);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (isNotModified) response.status(304).end();
    else sendSuccess(response, data, status);
  };
}
