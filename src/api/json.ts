/** JSON bodies: parses those of requests, and sends those of responses in the envelope `{request_id, success, data, error}`. */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import express, { type Request, type RequestHandler, type Response } from "express";
import { AppError, badRequest, type ErrorCode, problemIn } from "../core/errors.ts";
import { isObject } from "../core/json.ts";
import { contextOf, inShare } from "./context.ts";

/** A batch of 100 jobs with all fields has 10,000. */
export const MAX_QUOTES_AND_BRACKETS = 50_000;
const QUOTES_AND_BRACKETS = Buffer.from('"[{');

/** Parsing and checking megabytes of names or of empty lists takes seconds, and of text milliseconds. */
function hasTooManyParts(bytes: Buffer): boolean {
  if (bytes.length <= MAX_QUOTES_AND_BRACKETS) return false;
  let count = 0;
  // Unlike a loop over the bytes, `indexOf` skips text at once.
  for (const part of QUOTES_AND_BRACKETS) {
    for (let at = bytes.indexOf(part); at !== -1; at = bytes.indexOf(part, at + 1)) {
      count += 1;
      if (count > MAX_QUOTES_AND_BRACKETS) return true;
    }
  }
  return false;
}

/**
 * Returns a middleware that parses a JSON body in UTF-8 of at most `limitBytes` (uncompressed), which must be an object. An optional
 * body that is absent becomes an empty object.
 */
export function readJson(limitBytes: number, { isOptional = false } = {}): RequestHandler {
  const parse = express.json({
    limit: limitBytes,
    strict: false,
    type: () => true,
    verify: (_request, _response, bytes, charset) => {
      if (charset !== "utf-8" || !isUtf8(bytes)) throw new Error("not UTF-8");
      // The body parser keeps nothing but the type.
      if (hasTooManyParts(bytes))
        throw Object.assign(new Error("too many parts"), { type: "too.many.parts" });
    },
  });
  return (request, response, next) => {
    if (!hasBody(request)) {
      if (!isOptional) throw badRequest([], "A JSON body is required");
      request.body = {};
      return next();
    }
    if (!request.is("application/json"))
      throw new AppError("UnsupportedMediaTypeException", "The body must be application/json, in UTF-8");
    // The parser would only reject it after receiving all of it.
    if (Number(request.headers["content-length"] ?? 0) > limitBytes) throw payloadTooLarge();
    parse(request, response, (error?: unknown) =>
      next(error ?? (isObject(request.body) ? undefined : badRequest([NOT_AN_OBJECT]))),
    );
  };
}

const NOT_AN_OBJECT = problemIn("body")("", "invalid_type", "The body must be a JSON object");

/** True if the headers announce a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

export function payloadTooLarge(): AppError {
  return new AppError("PayloadTooLargeException", "The body is too large");
}

export interface ErrorBody {
  code: ErrorCode;
  message: string;
  details: unknown;
  /** The section of the guide about the code. */
  doc_url: string;
}

export const JSON_CONTENT_TYPE = "application/json; charset=utf-8";

function successJson(requestId: string, data: unknown): string {
  return `{"request_id":"${requestId}","success":true,"data":${JSON.stringify(data)},"error":null}`;
}

export function errorJson(requestId: string, error: ErrorBody): string {
  return JSON.stringify(toErrorEnvelope(requestId, error));
}

function toErrorEnvelope(requestId: string, error: ErrorBody): object {
  return { request_id: requestId, success: false, data: null, error };
}

/** Sends `data` in the envelope. */
export function sendSuccess(response: Response, data: unknown, status = 200): void {
  sendJson(response, status, successJson(contextOf(response).requestId, data));
}

/** Sends the status, headers, code, message and details of `error`, and records it in the context. */
export function sendError(response: Response, error: AppError): void {
  for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value);
  const { code, message, details } = error;
  const context = contextOf(response);
  const body = toErrorEnvelope(context.requestId, {
    code,
    message,
    details,
    doc_url: context.errorUrl(code),
  });
  context.failure = { code, responseBody: body };
  sendJson(response, error.status, JSON.stringify(body));
}

/** Bypasses Express's `send`, which would compute an ETag and look up the type again. */
function sendJson(response: Response, status: number, text: string): void {
  response.statusCode = status;
  response.setHeader("Content-Type", JSON_CONTENT_TYPE);
  response.setHeader("Content-Length", Buffer.byteLength(text));
  response.end(text);
}

export interface RouteResult {
  data: unknown;
  headers?: Record<string, string>;
  /** True to send 304 with the headers and no body, because the client has this version. */
  isNotModified?: boolean;
}

export type RouteHandler = (request: Request, response: Response) => Promise<RouteResult>;

/** Returns a handler that runs `handler` in the share of the request's partner, and sends its result. */
export function toRequestHandler(handler: RouteHandler, status: 200 | 201 | 202 = 200): RequestHandler {
  return async (request, response) => {
    const { shareKind } = contextOf(response);
    const result = await inShare(response, shareKind, () => handler(request, response));
    const { data, headers = {}, isNotModified = false } = result;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (isNotModified) response.status(304).end();
    else sendSuccess(response, data, status);
  };
}

/** True if the `If-None-Match` header is `*` or names `etag`, by the weak comparison of RFC 9110, which ignores `W/`. */
export function matchesEtag(request: Request, etag: string): boolean {
  const header = request.get("if-none-match");
  if (header === undefined) return false;
  if (header.trim() === "*") return true;
  const opaque = etag.replace(/^W\//, "");
  return (header.match(/"[^"]*"/g) ?? []).some((tag) => tag === opaque);
}
