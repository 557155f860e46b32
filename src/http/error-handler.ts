/** Whatever a route throws, as an answer in the envelope. */
import type { ErrorRequestHandler, RequestHandler } from "express";
import { toUnavailable } from "../platform/postgres/errors.ts";
import { AppError } from "../platform/errors.ts";
import { serializeError, type Logger } from "../platform/logger.ts";
import { payloadTooLarge } from "./body.ts";
import { contextOf } from "./context.ts";
import { sendError } from "./envelope.ts";

export function errorHandler(logger: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    const failure = toAppError(error);
    if (failure.status >= 500) {
      const { requestId } = contextOf(response);
      logger.error({ request_id: requestId, err: serializeError(failure.cause ?? failure) }, failure.message);
    }
    // Headers are out: all that is left is to break the connection, so that the caller does not take half for whole.
    if (response.headersSent) next(error);
    else sendError(response, failure);
  };
}

export const notFoundHandler: RequestHandler = () => {
  throw new AppError("NotFoundException", "There is no such route");
};

/** For a known path asked with a method that it does not have. */
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

/** Errors of Express and of its body parser carry a status and a `type`. */
interface ExpressError extends Error {
  status?: number;
  type?: string;
}

/** What Express, its body parser or a service threw, as a failure that a caller can be told about. */
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
  if (type === "entity.verify.failed")
    return new AppError("BadRequestException", "The body is not valid UTF-8");
  if (error instanceof URIError)
    return new AppError("BadRequestException", "The path is not valid percent-encoded UTF-8");
  if (status !== undefined && status >= 400 && status < 500)
    return new AppError("BadRequestException", "The request could not be read");
  // Not before: a caller who leaves in the middle of a body has codes in common with a database that does.
  return toUnavailable(error) ?? internalError(error);
}

function internalError(cause: unknown): AppError {
  return new AppError("InternalServerErrorException", "An unexpected error happened on our side", { cause });
}
