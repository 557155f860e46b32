/**
 * Sends a file and reads the answer as it comes. By XMLHttpRequest: of a file on its way `fetch` tells nothing, and a browser
 * hands the answer on only once the file is sent.
 */
import { ApiError, OfflineError } from "../../../app/api/client.ts";
import { serverUrl } from "../../../app/api/server-url.ts";
import {
  contentTypes,
  importPath,
  LineReader,
  type ImportCounts,
  type ImportLine,
  type ImportPlan,
  type ImportReport,
} from "./import-api.ts";

export interface ImportProgress {
  /** Of the file, from 0 to 1: sent, or, as soon as the server tells, read. */
  fraction: number;
  /** What is in, as far as it is known; null: nothing was told yet. */
  counts: ImportCounts | null;
}

interface UploadOptions {
  isDryRun: boolean;
  onProgress: (progress: ImportProgress) => void;
  /** Sends no more; what is in stays. */
  signal: AbortSignal;
}

/** Throws an ApiError where it is refused, an OfflineError where the connection breaks, the signal's reason where it aborts. */
export function uploadImport(file: File, plan: ImportPlan, options: UploadOptions): Promise<ImportReport> {
  const { isDryRun, onProgress, signal } = options;
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const lines = new LineReader();
    let report: ImportReport | null = null;
    const take = (line: ImportLine): void => {
      if (line.type === "report") report = line;
      else onProgress({ fraction: line.bytes / file.size, counts: line.counts });
    };
    const read = (): void => {
      if (request.status !== 200) return;
      try {
        for (const line of lines.push(request.responseText)) take(line);
      } catch (error) {
        // No line of ours: something between us and the server has answered.
        reject(new Error("The answer is none of this service", { cause: error }));
        request.abort();
      }
    };
    request.open("POST", serverUrl(importPath(plan, isDryRun)));
    request.setRequestHeader("Content-Type", contentTypes[plan.format]);
    request.setRequestHeader("Accept", "application/x-ndjson, application/json");
    request.upload.addEventListener("progress", ({ loaded }) =>
      onProgress({ fraction: Math.min(loaded / file.size, 1), counts: null }),
    );
    request.addEventListener("progress", read);
    request.addEventListener("load", () => {
      read();
      if (report) resolve(report);
      else reject(uploadError(request));
    });
    request.addEventListener("error", () => reject(new OfflineError(null)));
    request.addEventListener("abort", () => reject(signal.reason as Error));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

function uploadError({ status, responseText }: XMLHttpRequest): Error {
  // Half an answer: the server went away in the middle of it.
  if (status === 200) return new OfflineError(null);
  return new ApiError(new Response(null, { status }), parseEnvelope(responseText));
}

function parseEnvelope(text: string): ConstructorParameters<typeof ApiError>[1] {
  try {
    return JSON.parse(text) as ConstructorParameters<typeof ApiError>[1];
  } catch {
    return null;
  }
}
