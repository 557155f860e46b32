/** How an import is asked for: its file's format by the Content-Type, everything else in the query. */
import { z } from "zod";
import {
  type ColumnMapping,
  fileColumns,
  type FileFormat,
  type ImportRequest,
  isFileColumn,
} from "../../jobs/api.ts";
import { AppError } from "../../platform/errors.ts";
import { isObject } from "../body.ts";
import { queryReader, booleanParameter } from "../v1/parameters.ts";

const formats: Readonly<Record<string, FileFormat>> = {
  "text/csv": "csv",
  "application/x-ndjson": "ndjson",
};

/** PostgreSQL looks for these, and the audit log keeps one of them. */
const organizationReference = z
  .string()
  .max(255, { error: "must be at most 255 characters" })
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, { error: "must not contain control characters" })
  .optional();

const readQuery = queryReader(
  z.object({
    agent: organizationReference,
    contractor: organizationReference,
    dry_run: booleanParameter.default(false),
    columns: z.string().transform(readColumnNames).optional(),
    file_name: organizationReference,
  }),
);

/** Throws BadRequestException, or UnsupportedMediaTypeException for a file of another kind. */
export function readImportRequest(url: string, contentType: string | undefined): ImportRequest {
  const format = formats[contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? ""];
  if (format === undefined) {
    const known = Object.keys(formats).join(" or ");
    throw new AppError("UnsupportedMediaTypeException", `The file must be ${known}, in UTF-8`);
  }
  const { agent, contractor, dry_run: dryRun, columns, file_name: fileName } = readQuery(url);
  return { format, agent, contractor, dryRun, columns, fileName };
}

/** `{"Order no": "marking_number", …}`: the file's own names, and what each stands for. */
function readColumnNames(text: string, context: z.RefinementCtx<string>): ColumnMapping {
  const refuse = (message: string) => {
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  };
  const names = parseObject(text);
  if (names === null) return refuse("must be a JSON object: the file's names of its columns, each with ours");
  const columns: ColumnMapping = new Map(
    Object.entries(names).flatMap(([name, column]) =>
      typeof column === "string" && isFileColumn(column) ? [[name, column]] : [],
    ),
  );
  if (columns.size < Object.keys(names).length)
    return refuse(`must name only these: ${fileColumns.join(", ")}`);
  if (new Set(columns.values()).size < columns.size) return refuse("must name each of our columns once");
  return columns;
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
