/** The input file of a command: its format, size and bytes. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { addAbortSignal, type Readable } from "node:stream";
import { type ImportFormat, importFormats } from "../jobs/api.ts";
import { AppError } from "../core/errors.ts";

export interface InputFile {
  readonly format: ImportFormat;
  /** File name without folder; undefined for standard input. */
  readonly name: string | undefined;
  /** Bytes; null if unknown (standard input, a pipe). */
  readonly size: number | null;
  /** Opens the stream; it fails with an AbortError when `signal` aborts. */
  open(signal: AbortSignal): Readable;
}

const FORMAT_BY_EXTENSION: Readonly<Record<string, ImportFormat>> = {
  csv: "csv",
  ndjson: "ndjson",
  jsonl: "ndjson",
  xlsx: "xlsx",
};

/** The file `-` is `stdin`. Throws BadRequestException for a folder or an unknown format, or the system's error. */
export async function resolveInputFile(
  file: string,
  format: ImportFormat | undefined,
  stdin: Readable,
): Promise<InputFile> {
  if (file === "-") {
    return {
      format: format ?? throwUnknownFormat("standard input"),
      name: undefined,
      size: null,
      open: (signal) => addAbortSignal(signal, stdin),
    };
  }
  const stats = await stat(file);
  if (stats.isDirectory()) throw new AppError("BadRequestException", `${file} is a folder, not a file`);
  return {
    format: format ?? formatFromFileName(file) ?? throwUnknownFormat(file),
    name: basename(file),
    size: stats.isFile() ? stats.size : null,
    open: (signal) => createReadStream(file, { signal }),
  };
}

/** Returns the format for the file name's extension; undefined if it has none or an unknown one. */
export function formatFromFileName(file: string): ImportFormat | undefined {
  return FORMAT_BY_EXTENSION[/\.([a-z]+)$/i.exec(file)?.[1]?.toLowerCase() ?? ""];
}

function throwUnknownFormat(source: string): never {
  throw new AppError(
    "BadRequestException",
    `Cannot detect the format of ${source}: specify --format ${importFormats.join(" or --format ")}`,
  );
}
