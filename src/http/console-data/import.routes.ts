/**
 * A file of jobs from the console's Import page, read as it comes and never held. The answer comes as NDJSON: a line of
 * progress after each thousand rows, and a report as the last. What is wrong from the start is told in the envelope.
 */
import { Router, type Request, type RequestHandler, type Response } from "express";
import type { AccountService } from "../../accounts/account.service.ts";
import type { ActContext } from "../../accounts/audit.service.ts";
import type { ImportOutcome, ImportProgress, ImportService } from "../../jobs/job.import.service.ts";
import { AppError, unavailable } from "../../platform/errors.ts";
import { withoutValues, type Logger } from "../../platform/logger.ts";
import { createAccountGate, sessionOf } from "../account/account.gate.ts";
import { allowLongUpload } from "../arrival.ts";
import { tooLarge } from "../body.ts";
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
  const gate = createAccountGate(services.accounts.sessions);
  const router = Router({ caseSensitive: true });
  router
    .route("/imports")
    .all(gate.named("/console-data/imports"))
    .post(gate.ownPage, gate.signedIn, operatorsAlone, runImport(services))
    .all(methodNotAllowed("POST"));
  return router;
}

const operatorsAlone: RequestHandler = (_request, response, next) => {
  if (sessionOf(response).organizationId !== null)
    throw new AppError("ForbiddenException", "This is for operators of the service");
  next();
};

function runImport(services: ImportRouteServices): RequestHandler {
  return async (request, response) => {
    const asked = readImportRequest(request.originalUrl, request.headers["content-type"]);
    if ((request.headers["content-encoding"] ?? "identity") !== "identity")
      throw new AppError("UnsupportedMediaTypeException", "The file must come uncompressed");
    if (Number(request.headers["content-length"] ?? 0) > MAX_IMPORT_BYTES) throw tooLarge();
    allowLongUpload(request);
    const upload = new Upload(request);
    const signal = goneSignal(response);
    try {
      const file = { chunks: whileRunning(upload.chunks(), services.isStopping), signal };
      for await (const told of services.imports.run(contextFor(request, response), asked, file)) {
        writeLine(response, toLine(told, upload.bytes, services.logger));
      }
      response.end();
    } finally {
      // What was not read (the file was refused) has to go somewhere, or the browser never comes to the answer.
      request.resume();
    }
  };
}

function contextFor(request: Request, response: Response): ActContext {
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
      if (this.bytes > MAX_IMPORT_BYTES) throw tooLarge();
      yield chunk;
    }
  }
}

/** A server that stops waits for its answers, but not for a million rows: what is in is reported, and can be gone on from. */
async function* whileRunning(
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
function goneSignal(response: Response): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort(new AppError("BadRequestException", "The caller went away"));
  });
  return gone.signal;
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

function toLine(told: ImportProgress | ImportOutcome, bytes: number, logger: Logger): object {
  if (told.type === "progress") return { type: told.type, counts: told.counts, bytes };
  const { dryRun, counts, failures, failuresLeftOut, stopped } = told;
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
    stopped: stopped === null ? null : toldStop(stopped, logger),
  };
}

function toldStop(stopped: unknown, logger: Logger): { code: string; message: string } {
  const failure = toAppError(stopped);
  if (failure.status >= 500) logger.error({ err: withoutValues(failure.cause ?? failure) }, failure.message);
  return { code: failure.code, message: failure.message };
}
