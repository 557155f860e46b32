/** The file that a command reads: its format, its size where that is known, and its bytes. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { addAbortSignal, type Readable } from "node:stream";
import { fileFormats, type FileFormat } from "../jobs/job.import.rows.ts";
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

const extensions: Readonly<Record<string, FileFormat>> = { csv: "csv", ndjson: "ndjson", jsonl: "ndjson" };

/** `-` is standard input. Throws the system's error where there is no such file. */
export async function findInput(file: string, format: FileFormat | undefined): Promise<InputFile> {
  if (file === "-") {
    return {
      format: format ?? unknownFormat("Standard input"),
      name: undefined,
      size: null,
      open: (signal) => addAbortSignal(signal, process.stdin),
    };
  }
  const found = await stat(file);
  if (found.isDirectory()) throw new AppError("BadRequestException", `${file} is a folder`);
  return {
    format: format ?? formatOf(file) ?? unknownFormat(file),
    name: basename(file),
    size: found.isFile() ? found.size : null,
    open: (signal) => createReadStream(file, { signal }),
  };
}

/** The format that a file's name speaks of. */
export function formatOf(file: string): FileFormat | undefined {
  return extensions[/\.([a-z]+)$/i.exec(file)?.[1]?.toLowerCase() ?? ""];
}

function unknownFormat(what: string): never {
  throw new AppError(
    "BadRequestException",
    `${what} does not tell its format: give --format ${fileFormats.join(" or --format ")}`,
  );
}
