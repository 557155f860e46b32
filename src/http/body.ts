/** Request bodies: JSON in UTF-8, bounded, an object. */
import { isUtf8 } from "node:buffer";
import express, { type Request, type RequestHandler } from "express";
import { AppError, badRequest } from "../platform/errors.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** Reads a body of at most `limitBytes` (uncompressed); only `application/json` is taken. */
export function readJson(limitBytes: number): RequestHandler {
  const parse = express.json({
    limit: limitBytes,
    strict: false,
    type: () => true,
    verify: (_request, _response, bytes) => {
      if (!isUtf8(bytes)) throw new Error("not UTF-8");
    },
  });
  return (request, response, next) => {
    if (!hasBody(request)) throw badRequest([], "A JSON body is required");
    if (!isJsonInUtf8(request.headers["content-type"] ?? "")) {
      throw new AppError("UnsupportedMediaTypeException", "The body must be application/json, in UTF-8");
    }
    parse(request, response, next);
  };
}

/** The body as an object. Throws BadRequestException for any other JSON. */
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

function hasBody({ headers }: Request): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}
