/** The search of jobs as an SQL condition. Decision 0086 explains the table `job_search` and its index. */
import type { Queryable } from "../../core/postgres/database.ts";
import { join, raw, sql, type Sql } from "../../core/postgres/sql.ts";
import { type Audience, visibleTo } from "../visibility.sql.ts";
import { isReported, readSearch } from "./search.ts";

/**
 * The condition on `job` that it matches the text. With `audience`, the index finds the jobs; without, the condition reads only the
 * row, which can be an old state of a job.
 */
export function searchSql(text: string, audience: Audience | undefined): Sql {
  const { alternatives, list } = readSearch(text);
  const isListed =
    list.length === 0 ? [] : [sql`job.marking_number = any(${list.flatMap(spellings)}::text[])`];
  if (!audience) {
    const matches = alternatives.map((words) => contains(raw("searched.text"), words));
    return sql`(select (${join([...matches, ...isListed], " or ")}) from (select search_text(job.marking_number, job.recipient_name,
      job.recipient_contact, job.delivery_address, job.postal_code) as text offset 0) searched)`;
  }
  const found = [
    ...alternatives.map((words) => findByIndex(words, audience)),
    ...isListed.map((condition) => sql`select job.id from job where ${condition}`),
  ];
  return sql`job.id in (${join(found, " union all ")})`;
}

/** Which Marking Numbers of a list have a job that `audience` can see. Null if the text is no list. */
export async function findListedNumbers(queryable: Queryable, audience: Audience, text: string) {
  const { list } = readSearch(text);
  if (list.length === 0) return null;
  const rows = await queryable.query<{ marking_number: string }>(sql`
    select marking_number from job where marking_number = any(${list.flatMap(spellings)}::text[]) and ${visibleTo(audience)}`);
  const found = new Set(rows.map((row) => row.marking_number));
  const notFound = list.filter((number) => !spellings(number).some((spelling) => found.has(spelling)));
  return isReported(text, list, notFound) ? { count: list.length, notFound } : null;
}

/** As given, and in the usual case. */
const spellings = (number: string): string[] => [number, number.toUpperCase(), number.toLowerCase()];

function findByIndex(words: readonly string[], { organizationId }: Audience): Sql {
  const conditions = [
    ...(organizationId === null
      ? []
      : [sql`array[job_search.agent_id, job_search.contractor_id] @> array[${organizationId}::uuid]`]),
    ...tokensOf(words),
    contains(raw("job_search.text"), words),
  ];
  return sql`select job_id from job_search where ${join(conditions, " and ")}`;
}

/** Shorter words have no token. */
const TOKEN_LENGTH = 3;

/** Subqueries, so that a generic plan computes the constants once and not for each row. */
function tokensOf(words: readonly string[]): Sql[] {
  const long = words.filter((word) => word.length >= TOKEN_LENGTH);
  if (long.length === 0) return [];
  const tokens = join(
    long.map((word) => sql`search_tokens(search_fold(${word}))`),
    " || ",
  );
  return [sql`search_tokens(job_search.text) @> (select ${tokens})`];
}

function contains(text: Sql, words: readonly string[]): Sql {
  if (words.length === 0) return raw("true");
  return sql`(${join(
    words.map((word) => sql`strpos(${text}, (select search_fold(${word}))) > 0`),
    " and ",
  )})`;
}
