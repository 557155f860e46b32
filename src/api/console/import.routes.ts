/**
 * The uploads of the console's Import page, processed as streams. The response to an import is NDJSON: a progress line per
 * thousand rows and a report as the last line. Errors before the first row are sent in the envelope.
 */
import { Router, type Request, type RequestHandler, type Response } from "express";
import type { AccountServices } from "../../accounts/api.ts";
import { type ImportProgress, type ImportService, type ImportSummary, readSample } from "../../jobs/api.ts";
import { unavailable } from "../../core/errors.ts";
import { serializeError, type Logger } from "../../core/logger.ts";
import { authorize } from "../../operations/admit.ts";
import { importAccess } from "../../jobs/operations.ts";
import { createSessionGuards, requireAccess, sessionOf } from "./guards.ts";
import { allowLongUpload } from "../server/server.ts";
import { payloadTooLarge, sendSuccess } from "../json.ts";
import { addRoute } from "../add-route.ts";
import { contextOf, disconnectSignal } from "../context.ts";
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
  const add = (path: string, handler: RequestHandler): void =>
    addRoute(router, path, { post: [...allowed, handler] });
  add("/imports", runImport(services));
  add("/imports/sample", sendSample(services));
  return router;
}

function runImport(services: ImportRouteServices): RequestHandler {
  return async (request, response) => {
    const importRequest = { format: readImportFormat(request), ...readImportOptions(request.originalUrl) };
    const upload = openUpload(request, services.stopping, () => stillAllowed(services, response));
    const principal = sessionOf(response);
    const { requestId } = contextOf(response);
    const context = { actor: principal.actor, requestId, ipAddress: request.ip ?? null, principal };
    const file = { chunks: upload.chunks(), signal: disconnectSignal(response) };
    try {
      for await (const update of services.imports.run(context, importRequest, file))
        writeLine(response, toLine(update, upload.bytes, services.logger));
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
function sendSample(services: ImportRouteServices): RequestHandler {
  return async (request, response) => {
    const file = { format: readImportFormat(request), ...readImportOptions(request.originalUrl) };
    const upload = openUpload(request, services.stopping, () => stillAllowed(services, response));
    try {
      sendSuccess(response, await readSample(upload.chunks(), file));
    } finally {
      request.resume();
    }
  };
}

/**
 * Returns the request's body, limited to MAX_IMPORT_BYTES, and the number of bytes read. `check`: called once per MiB; throws if the
 * user may no longer import.
 */
function openUpload(request: Request, stopping: AbortSignal, check: () => Promise<void>) {
  if (Number(request.headers["content-length"] ?? 0) > MAX_IMPORT_BYTES) throw payloadTooLarge();
  allowLongUpload(request);
  let checkedBytes = 0;
  const upload = {
    bytes: 0,
    /** Throws ServiceUnavailableException when the server stops. The report then lists what was imported so far. */
    async *chunks(): AsyncGenerator<Uint8Array> {
      // Without this option, stopping early would destroy the connection before the response is sent.
      const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
      for await (const chunk of chunks) {
        upload.bytes += chunk.length;
        if (upload.bytes > MAX_IMPORT_BYTES) throw payloadTooLarge();
        if (stopping.aborted)
          throw unavailable("The service is restarting. Import the same file again in a moment.", 10);
        if (upload.bytes - checkedBytes > CHECK_BYTES) {
          checkedBytes = upload.bytes;
          await check();
        }
        yield chunk;
      }
    },
  };
  return upload;
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
