/**
 * The uploads of the console's Import page, processed as streams. The response to an import is NDJSON: a progress line per
 * thousand rows and a report as the last line. Errors before the first row are sent in the envelope.
 */
import { Router, type Request, type RequestHandler, type Response } from "express";
import type { AccountServices } from "../../accounts/api.ts";
import type { AuditContext } from "../../audit/api.ts";
import { type ImportProgress, type ImportService, type ImportSummary, readSample } from "../../jobs/api.ts";
import { AppError, unavailable } from "../../core/errors.ts";
import { serializeError, type Logger } from "../../core/logger.ts";
import { authorize } from "../../operations/admit.ts";
import { importAccess } from "../../jobs/operations.ts";
import { createSessionGuards, requireAccess, sessionOf } from "./guards.ts";
import { allowLongUpload } from "../server/server.ts";
import { payloadTooLarge, sendSuccess } from "../json.ts";
import { addRoute } from "../add-route.ts";
import { contextOf } from "../context.ts";
import { toAppError } from "../error-handler.ts";
import { readImportFormat, readImportOptions } from "./import.schema.ts";

export interface ImportRouteServices {
  accounts: Pick<AccountServices, "sessionVerifier">;
  imports: ImportService;
  logger: Logger;
  stopping: AbortSignal;
}

/** Enough for more than a million jobs. */
export const MAX_IMPORT_BYTES = 268_435_456;
/** Some thousand jobs. */
const CHECK_BYTES = 1_048_576;

export function importRoutes(services: ImportRouteServices): Router {
  const guards = createSessionGuards(services.accounts.sessionVerifier);
  const router = Router({ caseSensitive: true });
  const allowed = [guards.sameOrigin, guards.signedIn, requireAccess(importAccess)];
  addRoute(
    router,
    { path: "/imports", name: "/console-api/imports" },
    { post: [...allowed, runImport(services)] },
  );
  addRoute(
    router,
    { path: "/imports/sample", name: "/console-api/imports/sample" },
    { post: [...allowed, sendSample(services)] },
  );
  return router;
}

function runImport(services: ImportRouteServices): RequestHandler {
  return async (request, response) => {
    const importRequest = { format: readImportFormat(request), ...readImportOptions(request.originalUrl) };
    const upload = new Upload(request, services.stopping, () => stillAllowed(services, response));
    const signal = disconnectSignal(response);
    try {
      const file = { chunks: upload.chunks(), signal };
      for await (const update of services.imports.run(
        { ...auditContextOf(request, response), principal: sessionOf(response) },
        importRequest,
        file,
      )) {
        writeLine(response, toLine(update, upload.bytes, services.logger));
      }
      response.end();
    } finally {
      // Discard the rest of a rejected file: browsers read the response only after sending everything.
      request.resume();
    }
  };
}

/** An import takes minutes. It stops if the session ends or the organisation is suspended or may no longer import. */
async function stillAllowed({ accounts }: ImportRouteServices, response: Response): Promise<void> {
  const { sessionId } = sessionOf(response);
  authorize(importAccess, await accounts.sessionVerifier.revalidate(sessionId));
}

/** Answers with the column names and first rows of a file, or of its start. */
function sendSample({ stopping }: ImportRouteServices): RequestHandler {
  return async (request, response) => {
    const file = { format: readImportFormat(request), ...readImportOptions(request.originalUrl) };
    try {
      sendSuccess(response, await readSample(new Upload(request, stopping).chunks(), file));
    } finally {
      request.resume();
    }
  };
}

function auditContextOf(request: Request, response: Response): AuditContext {
  const { actor } = sessionOf(response);
  return { actor, requestId: contextOf(response).requestId, ipAddress: request.ip ?? null };
}

/** The request body, limited to MAX_IMPORT_BYTES, and the number of bytes read. */
class Upload {
  bytes = 0;
  readonly #request: Request;
  readonly #stopping: AbortSignal;
  readonly #check: () => Promise<void>;
  #checkedBytes = 0;

  /** `check`: called once per MiB; throws if the user may no longer import. */
  constructor(request: Request, stopping: AbortSignal, check = () => Promise.resolve()) {
    if (Number(request.headers["content-length"] ?? 0) > MAX_IMPORT_BYTES) throw payloadTooLarge();
    allowLongUpload(request);
    this.#request = request;
    this.#stopping = stopping;
    this.#check = check;
  }

  /** Throws ServiceUnavailableException when the server stops. The report then lists what was imported so far. */
  async *chunks(): AsyncGenerator<Uint8Array> {
    // Without this option, stopping early would destroy the connection before the response is sent.
    const chunks = this.#request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
    for await (const chunk of chunks) {
      this.bytes += chunk.length;
      if (this.bytes > MAX_IMPORT_BYTES) throw payloadTooLarge();
      if (this.#stopping.aborted)
        throw unavailable("The service is restarting. Import the same file again in a moment.", 10);
      if (this.bytes - this.#checkedBytes > CHECK_BYTES) {
        this.#checkedBytes = this.bytes;
        await this.#check();
      }
      yield chunk;
    }
  }
}

/** Returns a signal that aborts if the client disconnects before the response is complete. */
function disconnectSignal(response: Response): AbortSignal {
  const disconnected = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished)
      disconnected.abort(new AppError("BadRequestException", "The client disconnected"));
  });
  return disconnected.signal;
}

function writeLine(response: Response, line: object): void {
  if (response.destroyed) return;
  if (!response.headersSent) {
    response.setHeader("Content-Type", "application/x-ndjson; charset=utf-8");
    // Keep proxies from buffering or compressing, which would delay the progress.
    response.setHeader("Cache-Control", "no-store, no-transform");
    response.setHeader("X-Accel-Buffering", "no");
  }
  // Don't wait for `drain`: browsers read nothing before they have sent everything, and the output is small.
  response.write(`${JSON.stringify(line)}\n`);
}

function toLine(update: ImportProgress | ImportSummary, bytes: number, logger: Logger): object {
  if (update.type === "progress") return { type: update.type, counts: update.counts, bytes };
  const { dryRun, counts, failures, failuresOmitted, error } = update;
  return {
    type: "report",
    dry_run: dryRun,
    bytes,
    counts,
    failures: failures.map(({ line, markingNumber, problems, cells }) => ({
      line,
      marking_number: markingNumber,
      problems,
      cells,
    })),
    failures_omitted: failuresOmitted,
    stopped: error === null ? null : stopErrorWire(error, logger),
  };
}

function stopErrorWire(error: unknown, logger: Logger): { code: string; message: string } {
  const failure = toAppError(error);
  if (failure.status >= 500) logger.error({ err: serializeError(failure.cause ?? failure) }, failure.message);
  return { code: failure.code, message: failure.message };
}
