/** Parses an import request: the file format from Content-Type, everything else from the query. */
import type { IncomingMessage } from "node:http";
import { z } from "zod";
import {
  type ColumnMapping,
  dateOrders,
  fileEncodings,
  fileColumns,
  type ImportFormat,
  type ImportRequest,
  isFileColumn,
} from "../../jobs/api.ts";
import { AppError, badRequest } from "../../core/errors.ts";
import { queryReader } from "../rest/read-input.ts";
import { booleanParameter } from "../../operations/schemas.ts";

const formats: Readonly<Record<string, ImportFormat>> = {
  "text/csv": "csv",
  "application/x-ndjson": "ndjson",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
};

/** Without characters that PostgreSQL cannot store. */
const organizationReference = z
  .string()
  .max(255, { error: "must be at most 255 characters" })
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, { error: "must not contain control characters" })
  .optional();

const importParameters = z.object({
  agent: organizationReference,
  contractor: organizationReference,
  dry_run: booleanParameter.default(false),
  columns: z.string().transform(readColumnNames).optional(),
  dates: z.enum(dateOrders, { error: `must be ${dateOrders.join(" or ")}` }).optional(),
  encoding: z
    .enum(fileEncodings, { error: `must be ${fileEncodings.join(" or ")}, or absent for UTF-8` })
    .optional(),
  file_name: organizationReference,
});

const readQuery = queryReader(importParameters);

/** Throws UnsupportedMediaTypeException for another file format or a compressed file. */
export function readImportFormat({ headers }: IncomingMessage): ImportFormat {
  const format = formats[headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase() ?? ""];
  if (format === undefined) {
    const known = Object.keys(formats).join(" or ");
    throw new AppError("UnsupportedMediaTypeException", `The file must be ${known}, and text in UTF-8`);
  }
  if ((headers["content-encoding"] ?? "identity") !== "identity")
    throw new AppError("UnsupportedMediaTypeException", "The file must be uncompressed");
  return format;
}

/** Throws BadRequestException for an invalid query. */
export function readImportOptions(url: string): Omit<ImportRequest, "format"> {
  const { values, problems } = readQuery(url);
  if (problems.length > 0) throw badRequest(problems);
  const { dry_run: dryRun, file_name: fileName, ...options } = values as z.output<typeof importParameters>;
  return { dryRun, fileName, ...options };
}

/** Parses `{"Order no": "marking_number", …}`: the columns of the file and the fields that they contain. */
function readColumnNames(text: string, context: z.RefinementCtx<string>): ColumnMapping {
  try {
    const columns = new Map(Object.entries(JSON.parse(text) as object)) as ColumnMapping;
    const fields = new Set(columns.values());
    const areKnown = [...fields].every((field) => isFileColumn(field));
    if (columns.size > 0 && areKnown && fields.size === columns.size) return columns;
  } catch {
    // It is not JSON.
  }
  context.addIssue({
    code: "custom",
    message: `must be a JSON object that maps the file's columns to different ones of these: ${fileColumns.join(", ")}`,
  });
  return z.NEVER;
}
