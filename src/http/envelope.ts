/** The envelope of every response: `{request_id, success, data, error}`. */
import type { Response } from "express";
import type { AppError, ErrorCode } from "../platform/errors.ts";
import { contextOf } from "./context.ts";

export interface ErrorBody {
  code: ErrorCode;
  message: string;
  details: unknown;
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

export function sendSuccess(response: Response, data: unknown, status = 200): void {
  sendJson(response, status, successJson(contextOf(response).requestId, data));
}

/** Sends the status, headers, code, message and details of `error`, and records it in the context. */
export function sendError(response: Response, error: AppError): void {
  for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value);
  const { code, message, details } = error;
  const context = contextOf(response);
  const body = toErrorEnvelope(context.requestId, { code, message, details });
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
