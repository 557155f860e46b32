/** The file that a command reads: its format, its size where that is known, and its bytes. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { addAbortSignal, type Readable } from "node:stream";
import { type FileFormat, fileFormats } from "../jobs/api.ts";
import { AppError } from "../platform/errors.ts";

export interface InputFile {
  readonly format: FileFormat;
  /** Without its folder; undefined: standard input. */
  readonly name: string | undefined;
  /** Null: not known beforehand (standard input, a pipe). */
  readonly size: number | null;
  /** The bytes; an abort ends them with an AbortError. */
  open(signal: AbortSignal): Readable;
}

const FORMAT_BY_EXTENSION: Readonly<Record<string, FileFormat>> = {
  csv: "csv",
  ndjson: "ndjson",
  jsonl: "ndjson",
};

/** `-` is standard input. Throws the system's error where there is no such file. */
export async function resolveInputFile(file: string, format: FileFormat | undefined): Promise<InputFile> {
  if (file === "-") {
    return {
      format: format ?? throwUnknownFormat("Standard input"),
      name: undefined,
      size: null,
      open: (signal) => addAbortSignal(signal, process.stdin),
    };
  }
  const stats = await stat(file);
  if (stats.isDirectory()) throw new AppError("BadRequestException", `${file} is a folder`);
  return {
    format: format ?? formatFromFileName(file) ?? throwUnknownFormat(file),
    name: basename(file),
    size: stats.isFile() ? stats.size : null,
    open: (signal) => createReadStream(file, { signal }),
  };
}

/** The format that a file's name speaks of. */
export function formatFromFileName(file: string): FileFormat | undefined {
  return FORMAT_BY_EXTENSION[/\.([a-z]+)$/i.exec(file)?.[1]?.toLowerCase() ?? ""];
}

function throwUnknownFormat(source: string): never {
  throw new AppError(
    "BadRequestException",
    `${source} does not tell its format: give --format ${fileFormats.join(" or --format ")}`,
  );
}
