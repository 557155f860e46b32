/** Parsing of JSON request bodies. */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import express, { type Request, type RequestHandler } from "express";
import { AppError, badRequest } from "../platform/errors.ts";
import { hasBody } from "./server/request-timeout.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

const rawBodies = new WeakMap<IncomingMessage, Buffer>();

/** Returns a middleware that parses a JSON body in UTF-8 of at most `limitBytes` (uncompressed). */
export function readJson(limitBytes: number): RequestHandler {
  const parse = express.json({
    limit: limitBytes,
    strict: false,
    type: () => true,
    verify: (request, _response, bytes) => {
      if (!isUtf8(bytes)) throw new Error("not UTF-8");
      rawBodies.set(request, bytes);
    },
  });
  return (request, response, next) => {
    if (!hasBody(request)) throw badRequest([], "A JSON body is required");
    if (!isJsonInUtf8(request.headers["content-type"] ?? "")) {
      throw new AppError("UnsupportedMediaTypeException", "The body must be application/json, in UTF-8");
    }
    // The parser would only reject it after receiving all of it.
    if (Number(request.headers["content-length"] ?? 0) > limitBytes) throw payloadTooLarge();
    parse(request, response, next);
  };
}

export function payloadTooLarge(): AppError {
  return new AppError("PayloadTooLargeException", "The body is too large");
}

/** Returns the bytes of the body, uncompressed. */
export function rawBody(request: Request): Buffer {
  return rawBodies.get(request) ?? Buffer.alloc(0);
}

/** Returns the body as an object. Throws BadRequestException for other JSON values. */
export function objectBody(request: Request): JsonObject {
  const body: unknown = request.body;
  if (!isObject(body))
    throw badRequest([
      { location: "body", field: "", code: "invalid_type", message: "The body must be a JSON object" },
    ]);
  return body;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isJsonInUtf8(contentType: string): boolean {
  const [type, ...parameters] = contentType.split(";").map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith("charset="));
  return type === "application/json" && (charset === undefined || /^charset="?utf-8"?$/.test(charset));
}
