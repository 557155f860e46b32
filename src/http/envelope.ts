/** The one envelope of every answer: `{request_id, success, data, error}`. */
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

/** A failure with its status, its headers and what the caller may know of it. */
export function sendError(response: Response, error: AppError): void {
  for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value);
  const { code, message, details } = error;
  const context = contextOf(response);
  const answer = toErrorEnvelope(context.requestId, { code, message, details });
  context.failure = { code, answer };
  sendJson(response, error.status, JSON.stringify(answer));
}

/** Past Express's own `send`, which would hash the body for an ETag and look the type up again. */
function sendJson(response: Response, status: number, text: string): void {
  response.statusCode = status;
  response.setHeader("Content-Type", JSON_CONTENT_TYPE);
  response.setHeader("Content-Length", Buffer.byteLength(text));
  response.end(text);
}
