/** Everything that the database stores about one organisation, without what differs between two equal ones. */
import { hash } from "node:crypto";
import { fromTypedId, toTypedId, type IdPrefix } from "../../../src/core/ids.ts";
import type { Queryable } from "../../../src/core/postgres/database.ts";
import { join, raw, sql, type Sql } from "../../../src/core/postgres/sql.ts";
import { HOUR_MS } from "../../../src/core/time.ts";

/** Rows by table. Ids, random names and times near now are placeholders, equal for equal values. */
export type OrganizationSnapshot = Readonly<Record<string, readonly unknown[]>>;

const ofOrganization = "row.organization_id = $1";
const ofJobs = "row.agent_id = $1 or row.contractor_id = $1";
const ofEndpoints = "row.endpoint_id in (select id from webhook_endpoint where organization_id = $1)";
const ofUsers = "row.user_id in (select id from user_account where organization_id = $1)";

/** Selects an organisation's rows of each table. */
const ownRows: Readonly<Record<string, string>> = {
  organization: "row.id = $1",
  api_key: ofOrganization,
  audit_entry: ofOrganization,
  invitation: ofOrganization,
  job: ofJobs,
  job_event: ofJobs,
  mail: "row.recipient in (select email from user_account where organization_id = $1)",
  notification: ofUsers,
  notification_settings: ofUsers,
  saved_view: ofUsers,
  sso_connection: ofOrganization,
  test_run: "row.agent_id = $1",
  user_account: ofOrganization,
  webhook_attempt:
    "row.delivery_id in (select id from webhook_delivery where endpoint_id in (select id from webhook_endpoint where organization_id = $1))",
  webhook_delivery: ofEndpoints,
  webhook_endpoint: ofOrganization,
};

/** Tables of the service as a whole, logs of requests, sign-in data, and what follows from the rows above. */
const otherTables = new Set([
  "access_revision",
  "account_request",
  "account_request_note",
  "database_identity",
  "email_token",
  "failure_reason",
  "idempotency_record",
  "job_counter",
  "job_counter_delta",
  "job_search",
  "job_status",
  "mikro_orm_migrations",
  "rate_limit_bucket",
  "request_log",
  "request_usage",
  "user_credential",
  "user_passkey",
  "user_session",
  "user_two_factor",
  "user_verification",
]);

/** Random, measured, signed, encrypted or counted for the whole service. */
const MASKED_COLUMNS = new Set([
  "access_revision",
  "client_secret",
  "duration_ms",
  "lease_token",
  "position",
  "request_headers",
  "response_headers",
  "sealed_body",
  "sealed_headers",
  "secret_hash",
  "secrets",
  "transaction_id",
  "verification_token",
  "webhook_url",
]);
/** Written some time after a request, so they may or may not be there yet. */
const IGNORED_COLUMNS = ["last_used_at", "last_seen_at"];

/** Throws for a table that is neither in `ownRows` nor in `otherTables`. */
export async function snapshotOf(database: Queryable, organizationId: string): Promise<OrganizationSnapshot> {
  const rows = await ownRowsOf(database, organizationId);
  return snapshotOfRows(
    rows.map(({ name, json }) => ({ table: name, text: JSON.stringify(withoutRandomColumns(json)) })),
  );
}

interface OwnRow {
  name: string;
  json: Record<string, unknown>;
}

/** Returns the rows of the organisation with their table, without times that reading changes. */
export async function ownRowsOf(database: Queryable, organizationId: string): Promise<OwnRow[]> {
  await assertTablesKnown(database);
  return await database.query<OwnRow>(selectOwnRows(organizationId));
}

/** Returns the ids of the organisation's rows of each table, in order. Throws if a table has none. */
export async function typedIdsOf(
  database: Queryable,
  organizationId: string,
  tables: Partial<Record<IdPrefix, string>>,
): Promise<string[]> {
  const rows = await ownRowsOf(database, organizationId);
  return Object.entries(tables).flatMap(([prefix, table]) => {
    const ids = rows.filter(({ name }) => name === table).map(({ json }) => String(json["id"]));
    if (ids.length === 0) throw new Error(`There are no rows in ${table}`);
    return ids.toSorted().map((id) => toTypedId(prefix as IdPrefix, id));
  });
}

/** One statement, because a snapshot is taken for each of hundreds of actions. */
function selectOwnRows(organizationId: string): Sql {
  const selects = Object.entries(ownRows).map(([table, condition]) => {
    const where = join(condition.split("$1").map(raw), "own.id");
    return sql`select ${raw(`'${table}'`)} as name, to_jsonb(row) - ${IGNORED_COLUMNS}::text[] as json from own, ${raw(table)} row where ${where}`;
  });
  return sql`with own as (select ${organizationId}::uuid as id) ${join(selects, " union all ")}`;
}

/** A row as JSON. */
export interface StoredRow {
  readonly table: string;
  readonly text: string;
}

/** Returns the same for equal rows with other ids, in any order. */
export function snapshotOfRows(rows: readonly StoredRow[]): OrganizationSnapshot {
  const placeholders = new Placeholders();
  const signatures = signaturesOf(rows);
  const snapshot: Record<string, unknown[]> = {};
  for (const table of Object.keys(ownRows)) {
    // Rows with equal signatures can still refer to different rows of an earlier table, which has its placeholders.
    const keyed = rows
      .filter((row) => row.table === table)
      .map((row) => ({ row, key: `${signatures.get(row) ?? ""} ${placeholders.replaceKnownIn(row.text)}` }));
    snapshot[table] = keyed
      .toSorted((one, other) => (one.key < other.key ? -1 : 1))
      .map(({ row }) => placeholders.replaceIn(JSON.parse(row.text)));
  }
  return snapshot;
}

/**
 * Returns a text for each row that depends on its values and on the rows that share ids with it, but on no id. Neither ids nor
 * the order in which PostgreSQL returns rows may decide which of two similar rows comes first.
 */
function signaturesOf(rows: readonly StoredRow[]): Map<StoredRow, string> {
  let idSignatures = new Map<string, string>();
  let signatures = new Map<StoredRow, string>();
  for (let round = 0; round < SIGNATURE_ROUNDS; round += 1) {
    const known = idSignatures;
    signatures = new Map(
      rows.map((row) => [row, digest(`${row.table} ${replaceIds(row.text, (id) => known.get(id) ?? "")}`)]),
    );
    const rowsOfId = new Map<string, string[]>();
    for (const [row, signature] of signatures)
      for (const [match] of row.text.matchAll(RANDOM)) {
        const id = identityOf(match);
        rowsOfId.set(id, [...(rowsOfId.get(id) ?? []), signature]);
      }
    idSignatures = new Map(Array.from(rowsOfId, ([id, found]) => [id, digest(found.toSorted().join())]));
  }
  return signatures;
}

/** A difference orders two rows if it is at most this many references away, less one. */
const SIGNATURE_ROUNDS = 4;

function digest(text: string): string {
  return hash("sha256", text).slice(0, 16);
}

/** Databases whose tables are known. Their schema does not change during the tests. */
const checkedDatabases = new WeakSet<Queryable>();

async function assertTablesKnown(database: Queryable): Promise<void> {
  if (checkedDatabases.has(database)) return;
  const tables = await database.query<{ name: string }>(sql`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`);
  const unknown = tables.filter(({ name }) => !(name in ownRows) && !otherTables.has(name));
  if (unknown.length > 0)
    throw new Error(
      `organization-snapshot.ts must say how to select from ${unknown.map(({ name }) => name).join(", ")}`,
    );
  checkedDatabases.add(database);
}

function withoutRandomColumns(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      MASKED_COLUMNS.has(name) && value !== null ? "<masked>" : value,
    ]),
  );
}

const TYPED_ID = /[a-z]{3}_[0-7][0-9A-HJKMNP-TV-Z]{25}/;
const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/;
/** Ids, keys and their prefixes, signing secrets, Marking Numbers of test jobs, and the hexadecimal parts of names in fixtures. */
const RANDOM = new RegExp(
  [
    TYPED_ID,
    UUID,
    /wmk_(?:test_)?[0-9a-z]{8}(?:_[\w-]+)?/,
    /whsec_[\w+/=]+/,
    /TEST-[0-9A-Z]{12}/,
    /\b[\da-f]{8,}\b/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "g",
);
const TIME = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00(?::00)?)/g;
/** Times further away than this are compared exactly, as they come from the fixture. */
const MAX_RELATIVE_HOURS = 72;

function relativeTime(text: string): string {
  const hours = Math.round((Date.parse(text.replace(/\+00$/, "Z")) - Date.now()) / HOUR_MS);
  return Math.abs(hours) > MAX_RELATIVE_HOURS ? text : `<now${hours === 0 ? "" : ` ${hours} h`}>`;
}

/** A UUID and the typed id of the same object have the same identity. */
function identityOf(match: string): string {
  return fromTypedId(match.slice(0, 3) as IdPrefix, match) ?? match;
}

function replaceIds(text: string, nameOf: (identity: string) => string | number): string {
  return text
    .replaceAll(RANDOM, (match) => `<random ${nameOf(identityOf(match))}>`)
    .replaceAll(TIME, relativeTime);
}

/** Replaces random values by numbered placeholders. */
class Placeholders {
  readonly #numbers = new Map<string, number>();

  replaceIn<Value>(value: Value): Value {
    return JSON.parse(replaceIds(JSON.stringify(value), (id) => this.#numberOf(id))) as Value;
  }

  /** Returns `text` with numbers for the ids that have one. */
  replaceKnownIn(text: string): string {
    return replaceIds(text, (id) => this.#numbers.get(id) ?? "");
  }

  #numberOf(identity: string): number {
    const known = this.#numbers.get(identity) ?? this.#numbers.size + 1;
    this.#numbers.set(identity, known);
    return known;
  }
}
