/** Exports jobs for operators as CSV or NDJSON that can be imported again. Reads page by page in constant memory. */
import { csvLine } from "../../platform/records/csv.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import { join, sql, type Sql } from "../../platform/postgres/sql.ts";
import { fileColumns, formatCell, toFileRow } from "./file-codec.ts";
import { parametersToSql, type JobListParameters } from "../list/list-parameters.ts";
import type { FileFormat } from "./import-rows.ts";
import { jobColumnsWithOwners, type JobRowWithOwners } from "../job.row.ts";

export interface ExportQuery {
  format: FileFormat;
  /** Organisation ids are UUIDs. */
  agentId?: string | undefined;
  contractorId?: string | undefined;
  filter?: JobListParameters;
}

/** Part of the file and the number of jobs in it. */
export interface ExportChunk {
  text: string;
  jobCount: number;
}

const columns = jobColumnsWithOwners("job.");
const PAGE_SIZE = 1_000;
/** Sorts before every other UUID. */
const NIL_UUID = "00000000-0000-0000-0000-000000000000";

/** Yields the file in chunks, oldest job first. A job that changes during the export shows its old or its new state. */
export async function* exportJobs(database: Queryable, query: ExportQuery): AsyncGenerator<ExportChunk> {
  if (query.format === "csv") yield { text: `${csvLine(fileColumns)}\n`, jobCount: 0 };
  const line = lineFormatters[query.format];
  let after = NIL_UUID;
  for (;;) {
    const rows = await database.query<JobRowWithOwners>(pageSql(after, query));
    if (rows.length > 0) yield { text: rows.map((row) => `${line(row)}\n`).join(""), jobCount: rows.length };
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE_SIZE) return;
    after = last.id;
  }
}

const lineFormatters: Record<FileFormat, (job: JobRowWithOwners) => string> = {
  csv(job) {
    const row = toFileRow(job);
    return csvLine(fileColumns.map((column) => formatCell(row[column])));
  },
  ndjson: (job) => JSON.stringify(toFileRow(job)),
};

function pageSql(after: string, { agentId, contractorId, filter = {} }: ExportQuery): Sql {
  const conditions = [sql`job.id > ${after}::uuid`, ...parametersToSql(filter)];
  if (agentId !== undefined) conditions.push(sql`job.agent_id = ${agentId}::uuid`);
  if (contractorId !== undefined) conditions.push(sql`job.contractor_id = ${contractorId}::uuid`);
  return sql`select ${columns} from job where ${join(conditions, " and ")} order by job.id limit ${PAGE_SIZE}`;
}
