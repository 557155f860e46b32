/** Reads the first sheet of an `.xlsx` workbook as CSV records, so that one reader of rows serves both. */
import { type UnzipFileFilter, unzipSync } from "fflate";
import type { CellValue } from "hucre";
import { AppError, badRequest } from "../errors.ts";
import type { CsvCell, CsvRecord } from "./csv.ts";
import type { StreamRecord } from "./record-reader.ts";

/** The index of a workbook is at its end, so the whole file is in memory. */
export const MAX_XLSX_BYTES = 16 * 1024 * 1024;
/** The rows of a sheet are unpacked one after the other. */
const MAX_UNPACKED_BYTES = 256 * 1024 * 1024;
/** All other parts are unpacked as a whole, above all the texts that cells share. */
const MAX_PART_BYTES = 32 * 1024 * 1024;
/** Starts a workbook of Excel before 2007, and one with a password. */
const OLE2 = Buffer.from("d0cf11e0", "hex");

/**
 * Yields the rows with their numbers, each as wide as the first, and skips blank ones. Numbers and booleans become text, dates
 * `YYYY-MM-DD`. Throws BadRequestException if the file is not a workbook, is protected by a password, or is too large.
 */
export async function* readXlsx(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamRecord<CsvRecord>> {
  const bytes = await readAll(chunks);
  if (bytes.subarray(0, OLE2.length).equals(OLE2))
    throw badRequest(
      [],
      "The workbook has a password or is an .xls file; save it as .xlsx without a password",
    );
  checkSizes(bytes);
  // Takes 65 ms to load, and few processes read a workbook.
  const { streamXlsxRows } = await import("hucre/xlsx");
  let width = 0;
  try {
    for await (const { index, values } of streamXlsxRows(bytes)) {
      const filled = values.slice(0, values.findLastIndex((value) => (value ?? "") !== "") + 1);
      if (filled.length === 0) continue;
      // Sheets leave out the empty cells at the end of a row.
      width ||= filled.length;
      const cells = Array.from({ length: Math.max(width, filled.length) }, (_, at) => toCell(filled[at]));
      yield { line: index + 1, content: { cells } };
    }
  } catch (error) {
    throw notAWorkbook(error);
  }
}

async function readAll(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > MAX_XLSX_BYTES)
      throw badRequest([], `The workbook is larger than ${MAX_XLSX_BYTES / 1024 / 1024} MiB; save it as CSV`);
    parts.push(chunk);
  }
  return Buffer.concat(parts);
}

/** A few bytes can unpack to gigabytes. The reader unpacks no part beyond the size that the index says, unless it says zero. */
function checkSizes(bytes: Uint8Array): void {
  let total = 0;
  let isTooLarge = false;
  const count: UnzipFileFilter = ({ name, originalSize }) => {
    total += originalSize;
    const isSheet = name.startsWith("xl/worksheets/");
    const isOfUnknownSize = originalSize === 0 && !name.endsWith("/");
    isTooLarge ||=
      isOfUnknownSize || total > MAX_UNPACKED_BYTES || (!isSheet && originalSize > MAX_PART_BYTES);
    return false;
  };
  try {
    unzipSync(bytes, { filter: count });
  } catch (error) {
    throw notAWorkbook(error);
  }
  if (isTooLarge)
    throw badRequest([], "The workbook is too large when unpacked; save the sheet with the jobs as CSV");
}

function toCell(value: CellValue | undefined): CsvCell {
  const text =
    value instanceof Date ? value.toISOString().replace("T00:00:00.000Z", "") : String(value ?? "");
  return { text, isQuoted: false };
}

function notAWorkbook(cause: unknown): AppError {
  const message = "The file is not a workbook that Excel can open; save it as .xlsx or CSV";
  return new AppError("BadRequestException", message, { cause });
}
