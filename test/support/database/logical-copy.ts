/**
 * Copies a database like `pg_dump` and `pg_restore`, with SQL only: a consistent snapshot of all rows, functions and sequence
 * values. The target must already have the schema and the partitions.
 */
import pg from "pg";

export async function copyDatabase(fromUrl: string, toUrl: string): Promise<void> {
  const [from, to] = [new pg.Client(fromUrl), new pg.Client(toUrl)];
  await Promise.all([from.connect(), to.connect()]);
  try {
    await from.query("begin isolation level repeatable read");
    await to.query("begin; set local session_replication_role = replica");
    const tables = await listTables(from);
    await to.query(`truncate ${tables.map(quoteIdentifier).join(", ")}`);
    for (const table of tables) await copyTable(from, to, quoteIdentifier(table));
    await copyFunctions(from, to);
    await copySequences(from, to);
    await to.query("commit");
  } finally {
    await Promise.all([from.end(), to.end()]);
  }
}

const quoteIdentifier = (name: string): string => `"${name}"`;

async function listTables(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(`
    select relname as name from pg_class
    where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace order by relname`);
  return rows.map(({ name }) => name);
}

async function copyTable(from: pg.Client, to: pg.Client, table: string): Promise<void> {
  const { rows } = await from.query<{ rows: string }>(
    `select coalesce(json_agg(row), '[]')::text as rows from ${table} row`,
  );
  await to.query(`insert into ${table} select * from json_populate_recordset(null::${table}, $1)`, [
    rows[0]?.rows,
  ]);
}

async function copyFunctions(from: pg.Client, to: pg.Client): Promise<void> {
  const { rows } = await from.query<{ definition: string }>(
    "select pg_get_functiondef(oid) as definition from pg_proc where pronamespace = 'public'::regnamespace",
  );
  for (const { definition } of rows) await to.query(definition);
}

async function copySequences(from: pg.Client, to: pg.Client): Promise<void> {
  const { rows } = await from.query<{ name: string; last: string | null }>(
    "select sequencename as name, last_value::text as last from pg_sequences where schemaname = 'public'",
  );
  for (const { name, last } of rows) if (last !== null) await to.query("select setval($1, $2)", [name, last]);
}
