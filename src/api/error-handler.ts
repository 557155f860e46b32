/** Converts errors thrown by routes to responses in the envelope. */
import type { ErrorRequestHandler, RequestHandler } from "express";
import { toUnavailable } from "../core/postgres/errors.ts";
import { AppError } from "../core/errors.ts";
import { serializeError, type Logger } from "../core/logger.ts";
import { MAX_QUOTES_AND_BRACKETS, payloadTooLarge, sendError } from "./json.ts";
import { contextOf } from "./context.ts";

export function errorHandler(logger: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    const failure = toAppError(error);
    const { status, cause, message } = failure;
    // Without a cause it is a refusal, or simulated.
    if (status >= 500 && cause !== undefined)
      logger.error({ request_id: contextOf(response).requestId, err: serializeError(cause) }, message);
    // The response has started. Express closes the connection, so that the client notices the truncation.
    if (response.headersSent) next(error);
    else sendError(response, failure);
  };
}

export const notFoundHandler: RequestHandler = () => {
  throw new AppError("NotFoundException", "There is no such route");
};

/** Returns a handler that throws MethodNotAllowedException, for a path that supports only the methods `allow`. */
export function methodNotAllowed(allow: string): RequestHandler {
  return (request) => {
    throw new AppError(
      "MethodNotAllowedException",
      `${request.method} is not allowed here. Allowed: ${allow}`,
      {
        headers: { Allow: allow },
      },
    );
  };
}

/** Errors of Express and its body parser have a status and a `type`. */
interface ExpressError extends Error {
  status?: number;
  type?: string;
}

/** Converts an error of Express, its body parser or a service to an AppError that is safe to send. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const { status, type } = error instanceof Error ? (error as ExpressError) : {};
  if (status === 413) return payloadTooLarge();
  if (status === 415)
    return new AppError(
      "UnsupportedMediaTypeException",
      "The body's encoding or charset is not supported; send UTF-8",
    );
  if (type === "entity.parse.failed")
    return new AppError("BadRequestException", "The body is not valid JSON");
  if (type === "too.many.parts")
    return new AppError(
      "PayloadTooLargeException",
      `The body has more than ${MAX_QUOTES_AND_BRACKETS} quotation marks and opening brackets. Send fewer members and items`,
    );
  if (type === "entity.verify.failed")
    return new AppError("BadRequestException", "The body is not valid UTF-8");
  if (error instanceof URIError)
    return new AppError("BadRequestException", "The path is not valid percent-encoded UTF-8");
  if (status !== undefined && status >= 400 && status < 500)
    return new AppError("BadRequestException", "The request could not be read");
  // Checked last, because a client that disconnects has error codes in common with a lost database connection.
  return toUnavailable(error) ?? internalError(error);
}

function internalError(cause: unknown): AppError {
  return new AppError("InternalServerErrorException", "An unexpected error happened on our side", { cause });
}
