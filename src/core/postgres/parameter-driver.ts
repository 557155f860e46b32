/**
 * MikroORM's driver, with texts and bytes as parameters. MikroORM writes values into statements, and PostgreSQL logs the text of
 * statements that fail: tokens and password hashes would be in its log. Parameters are not logged.
 */
import {
  NativeQueryBuilder,
  PostgreSqlConnection,
  PostgreSqlDriver,
  type PostgreSqlPlatform,
  raw,
  type AnyEntity,
  type Configuration,
  type DriverException,
  type Dictionary,
  type EntityData,
  type QueryResult,
  type RawQueryFragment,
  type Transaction,
} from "@mikro-orm/postgresql";
import { CompiledQuery, type Kysely } from "kysely";
import { traceStatement } from "../tracing/tracing.ts";
import { toUnavailableUnlessContended } from "./errors.ts";

export class ParameterDriver extends PostgreSqlDriver {
  protected override readonly connection: ParameterConnection;

  constructor(config: Configuration) {
    super(config);
    this.connection = new ParameterConnection(config);
  }

  /**
   * Returns a 503 where a SQL template would throw one; MikroORM would wrap it. PostgreSQL's detail and hint are dropped: they
   * quote values, and MikroORM would append them to the message, which is logged.
   */
  override convertException(exception: Error): DriverException {
    const unavailable = toUnavailableUnlessContended(exception);
    if (unavailable) return unavailable;
    for (const key of ["detail", "hint"]) Reflect.deleteProperty(exception, key);
    return super.convertException(exception);
  }
}

class ParameterConnection extends PostgreSqlConnection {
  override async execute<T extends QueryResult | EntityData<AnyEntity> | EntityData<AnyEntity>[]>(
    query: string | NativeQueryBuilder | RawQueryFragment,
    params: readonly unknown[] | Dictionary = [],
    method: "all" | "get" | "run" = "all",
    transaction?: Transaction<StatementRunner>,
  ): Promise<T> {
    await this.ensureConnection();
    const fragment = toFragment(query, params);
    const { text, values } = bindTexts(this.platform as PostgreSqlPlatform, fragment);
    return await traceStatement(text, () =>
      this.executeQuery(text, async () => {
        const runner: StatementRunner = transaction ?? this.getClient();
        const result = await runner.executeQuery(CompiledQuery.raw(text, values));
        return this.transformRawResult<T>(result, method);
      }),
    );
  }
}

/** Kysely, or a transaction of it. */
type StatementRunner = Pick<Kysely<unknown>, "executeQuery">;

type Fragment = Pick<RawQueryFragment, "sql" | "params">;

function toFragment(
  query: string | NativeQueryBuilder | RawQueryFragment,
  params: readonly unknown[] | Dictionary,
): Fragment {
  if (query instanceof NativeQueryBuilder) return query.toRaw();
  if (typeof query !== "string") return query;
  return Array.isArray(params) ? { sql: query, params } : raw(query, params as Dictionary);
}

/** Formats a statement with placeholders for texts and bytes. Other values, such as numbers and times, are in its text. */
function bindTexts(
  platform: PostgreSqlPlatform,
  { sql, params }: Fragment,
): { text: string; values: unknown[] } {
  const values: unknown[] = [];
  const escape = (value: unknown): unknown => {
    if (typeof value === "string" || ArrayBuffer.isView(value)) return `$${values.push(value)}`;
    return Array.isArray(value) ? value.map(escape).join(", ") : platform.escape(value);
  };
  const binding = Object.create(platform, { escape: { value: escape } }) as PostgreSqlPlatform;
  return { text: binding.formatQuery(sql, params), values };
}
