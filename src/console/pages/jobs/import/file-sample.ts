/** The first rows of an import file, which the server reads. */
import { api } from "../../../app/api/client.ts";
import { delimiterAfter, detectEncoding } from "./file-encoding.ts";
import {
  contentTypes,
  MAX_FILE_BYTES,
  MAX_XLSX_BYTES,
  type FileEncoding,
  type FileFormat,
} from "./import-api.ts";

export interface FileSample {
  names: string[];
  /** The first rows, with one text per name. Missing cells are empty. */
  rows: string[][];
}

interface ReadFile {
  sample: FileSample;
  encoding: FileEncoding | null;
  delimiter: string;
}

/** More than the server reads of a CSV or NDJSON file. */
const SENT_BYTES = 131_072;

/** Throws an Error with a message for users if the file cannot be imported. */
export async function readFileSample(file: File, format: FileFormat): Promise<ReadFile> {
  const isWorkbook = format === "xlsx";
  if (isWorkbook && file.size > MAX_XLSX_BYTES)
    throw new Error(
      "This workbook is larger than 16 MB. Save its sheet as “CSV UTF-8” and choose that file.",
    );
  if (file.size > MAX_FILE_BYTES) {
    throw new Error(
      "This file is larger than 256 MB. Split it, or use “waymark jobs import”, which has no size limit.",
    );
  }
  const sent = file.slice(0, isWorkbook ? file.size : SENT_BYTES, contentTypes[format]);
  const encoding = format === "csv" ? await detectEncoding(file) : null;
  const query = encoding === null ? "" : `?encoding=${encoding}`;
  const sample = await api.post<FileSample>(`console-api/imports/sample${query}`, sent);
  const start = format === "csv" ? new TextDecoder(encoding ?? "utf-8").decode(await sent.arrayBuffer()) : "";
  return { sample, encoding, delimiter: delimiterAfter(start, sample.names[0] ?? "") };
}
