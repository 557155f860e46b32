/** Exporting jobs as a file that can be imported again as it is, page by page, however many there are: for operators. */
import { csvLine } from "../platform/csv.ts";
import type { Queryable } from "../platform/database.ts";
import { join, sql, type Sql } from "../platform/sql.ts";
import { fileColumns, textOfValue, toFileRow } from "./job.file.ts";
import { conditionsOf, type JobFilter } from "./job.filter.ts";
import type { FileFormat } from "./job.import.rows.ts";
import { assignedJobColumns, type AssignedJobRow } from "./job.row.ts";

export interface ExportQuery {
  format: FileFormat;
  /** uuids */
  agentId?: string | undefined;
  contractorId?: string | undefined;
  filter?: JobFilter;
}

/** A piece of the file and the number of jobs in it. */
export interface ExportPart {
  text: string;
  jobs: number;
}

const columns = assignedJobColumns("job.");
const PAGE = 1_000;
/** Before every other uuid. */
const NIL = "00000000-0000-0000-0000-000000000000";

/** The file in parts, oldest job first. Each job is whole, but jobs changed meanwhile show as they were or as they are. */
export async function* exportJobs(database: Queryable, query: ExportQuery): AsyncGenerator<ExportPart> {
  if (query.format === "csv") yield { text: `${csvLine(fileColumns)}\n`, jobs: 0 };
  const line = lineOf[query.format];
  let after = NIL;
  for (;;) {
    const rows = await database.query<AssignedJobRow>(pageAfter(after, query));
    if (rows.length > 0) yield { text: rows.map((row) => `${line(row)}\n`).join(""), jobs: rows.length };
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    after = last.id;
  }
}

const lineOf: Record<FileFormat, (job: AssignedJobRow) => string> = {
  csv(job) {
    const row = toFileRow(job);
    return csvLine(fileColumns.map((column) => textOfValue(row[column])));
  },
  ndjson: (job) => JSON.stringify(toFileRow(job)),
};

function pageAfter(after: string, { agentId, contractorId, filter = {} }: ExportQuery): Sql {
  const conditions = [sql`job.id > ${after}::uuid`, ...conditionsOf(filter)];
  if (agentId !== undefined) conditions.push(sql`job.agent_id = ${agentId}::uuid`);
  if (contractorId !== undefined) conditions.push(sql`job.contractor_id = ${contractorId}::uuid`);
  return sql`select ${columns} from job where ${join(conditions, " and ")} order by job.id limit ${PAGE}`;
}
