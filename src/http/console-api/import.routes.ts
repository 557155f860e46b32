/**
 * A file of jobs from the console's Import page, read as it comes and never held. The answer comes as NDJSON: a line of
 * progress after each thousand rows, and a report as the last. What is wrong from the start is told in the envelope.
 */
import { Router, type Request, type RequestHandler, type Response } from "express";
import type { AccountService } from "../../accounts/api.ts";
import type { AuditContext } from "../../audit/api.ts";
import type { ImportProgress, ImportService, ImportSummary } from "../../jobs/api.ts";
import { AppError, unavailable } from "../../platform/errors.ts";
import { serializeError, type Logger } from "../../platform/logger.ts";
import { createSessionGuards, sessionOf } from "../account/guards.ts";
import { allowLongUpload } from "../server/request-timeout.ts";
import { payloadTooLarge } from "../body.ts";
import { contextOf } from "../context.ts";
import { methodNotAllowed, toAppError } from "../error-handler.ts";
import { readImportRequest } from "./import.schema.ts";

export interface ImportRouteServices {
  accounts: AccountService;
  imports: ImportService;
  logger: Logger;
  isStopping: () => boolean;
}

/** More than a million jobs. */
export const MAX_IMPORT_BYTES = 268_435_456;

export function importRoutes(services: ImportRouteServices): Router {
  const guards = createSessionGuards(services.accounts.sessions);
  const router = Router({ caseSensitive: true });
  router
    .route("/imports")
    .all(guards.tagRoute("/console-api/imports"))
    .post(guards.sameOrigin, guards.signedIn, requireOperator, runImport(services))
    .all(methodNotAllowed("POST"));
  return router;
}

const requireOperator: RequestHandler = (_request, response, next) => {
  if (sessionOf(response).organizationId !== null)
    throw new AppError("ForbiddenException", "This is for operators of the service");
  next();
};

function runImport(services: ImportRouteServices): RequestHandler {
  return async (request, response) => {
    const importRequest = readImportRequest(request.originalUrl, request.headers["content-type"]);
    if ((request.headers["content-encoding"] ?? "identity") !== "identity")
      throw new AppError("UnsupportedMediaTypeException", "The file must come uncompressed");
    if (Number(request.headers["content-length"] ?? 0) > MAX_IMPORT_BYTES) throw payloadTooLarge();
    allowLongUpload(request);
    const upload = new Upload(request);
    const signal = disconnectSignal(response);
    try {
      const file = { chunks: untilStopping(upload.chunks(), services.isStopping), signal };
      for await (const update of services.imports.run(
        auditContextOf(request, response),
        importRequest,
        file,
      )) {
        writeLine(response, toLine(update, upload.bytes, services.logger));
      }
      response.end();
    } finally {
      // What was not read (the file was refused) has to go somewhere, or the browser never comes to the answer.
      request.resume();
    }
  };
}

function auditContextOf(request: Request, response: Response): AuditContext {
  const { actor } = sessionOf(response);
  return { actor, requestId: contextOf(response).requestId, address: request.ip ?? null };
}

/** The request's body, bounded, and how much of it was read. */
class Upload {
  bytes = 0;
  readonly #request: Request;

  constructor(request: Request) {
    this.#request = request;
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    // Else the end of the reading would be the end of the connection, before there is an answer.
    const chunks = this.#request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
    for await (const chunk of chunks) {
      this.bytes += chunk.length;
      if (this.bytes > MAX_IMPORT_BYTES) throw payloadTooLarge();
      yield chunk;
    }
  }
}

/** A server that stops waits for its answers, but not for a million rows: what is in is reported, and can be gone on from. */
async function* untilStopping(
  chunks: AsyncIterable<Uint8Array>,
  isStopping: () => boolean,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    if (isStopping())
      throw unavailable("The service is restarting: import the same file again in a moment", 10);
    yield chunk;
  }
}

/** Aborts where the caller goes away before the answer is complete. */
function disconnectSignal(response: Response): AbortSignal {
  const disconnected = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished)
      disconnected.abort(new AppError("BadRequestException", "The caller went away"));
  });
  return disconnected.signal;
}

function writeLine(response: Response, line: object): void {
  if (response.destroyed) return;
  if (!response.headersSent) {
    response.setHeader("Content-Type", "application/x-ndjson; charset=utf-8");
    // Whoever collects what they pass on, be it to compress it, would leave the page without progress.
    response.setHeader("Cache-Control", "no-store, no-transform");
    response.setHeader("X-Accel-Buffering", "no");
  }
  // Not waited for: a browser reads nothing before it has sent everything, and what is written is bounded.
  response.write(`${JSON.stringify(line)}\n`);
}

function toLine(update: ImportProgress | ImportSummary, bytes: number, logger: Logger): object {
  if (update.type === "progress") return { type: update.type, counts: update.counts, bytes };
  const { dryRun, counts, failures, failuresLeftOut, error } = update;
  return {
    type: "report",
    dry_run: dryRun,
    bytes,
    counts,
    failures: failures.map(({ line, markingNumber, problems }) => ({
      line,
      marking_number: markingNumber,
      problems,
    })),
    failures_left_out: failuresLeftOut,
    stopped: error === null ? null : stopErrorWire(error, logger),
  };
}

function stopErrorWire(error: unknown, logger: Logger): { code: string; message: string } {
  const failure = toAppError(error);
  if (failure.status >= 500) logger.error({ err: serializeError(failure.cause ?? failure) }, failure.message);
  return { code: failure.code, message: failure.message };
}
