/**
 * Uploads an import file and reads the response while it arrives. Uses XMLHttpRequest because `fetch` reports no
 * upload progress, and browsers deliver its response only after the upload.
 */
import { ApiError, OfflineError } from "../../../app/api/client.ts";
import { serverUrl } from "../../../app/api/server-url.ts";
import {
  contentTypes,
  importPath,
  NdjsonReader,
  type ImportCounts,
  type ImportLine,
  type ImportPlan,
  type ImportReport,
} from "./import-api.ts";

export interface ImportProgress {
  /** Fraction of the file from 0 to 1: uploaded at first, then processed by the server. */
  fraction: number;
  /** Rows processed so far; null until the server reports them. */
  counts: ImportCounts | null;
}

interface UploadOptions {
  isDryRun: boolean;
  onProgress: (progress: ImportProgress) => void;
  /** Stops the upload. Imported rows stay. */
  signal: AbortSignal;
}

/**
 * Rejects with an ApiError if the server rejects the import, an OfflineError if the connection breaks, or the
 * signal's reason if it aborts.
 */
export function uploadImport(file: File, plan: ImportPlan, options: UploadOptions): Promise<ImportReport> {
  const { isDryRun, onProgress, signal } = options;
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const lines = new NdjsonReader();
    let report: ImportReport | null = null;
    const handleLine = (line: ImportLine): void => {
      if (line.type === "report") report = line;
      else onProgress({ fraction: line.bytes / file.size, counts: line.counts });
    };
    const read = (): void => {
      if (request.status !== 200) return;
      try {
        for (const line of lines.push(request.responseText)) handleLine(line);
      } catch (error) {
        // Not a line of the import response, so a proxy probably replied.
        reject(new Error("Unexpected response from the server", { cause: error }));
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
  // The response is incomplete: the connection broke.
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
