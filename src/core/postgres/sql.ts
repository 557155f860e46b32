/** SQL statements: composed from fragments with bound values, and prepared by name if they are used often. */
import type { Pool, PoolClient } from "pg";
import { traceStatement } from "../tracing/tracing.ts";

/** A fragment of SQL. A `sql` template inserts a nested `Sql` as text; any other value becomes a bound parameter. */
export class Sql {
  readonly strings: readonly string[];
  readonly parts: readonly unknown[];

  constructor(strings: readonly string[], parts: readonly unknown[]) {
    this.strings = strings;
    this.parts = parts;
  }

  /** Returns the text with `$n` placeholders, and the values in that order. */
  compile(): CompiledSql {
    const values: unknown[] = [];
    return { text: this.#render(values), values };
  }

  #render(values: unknown[]): string {
    let text = this.strings[0] as string;
    for (let index = 0; index < this.parts.length; index += 1) {
      const part = this.parts[index];
      text +=
        (part instanceof Sql ? part.#render(values) : `$${values.push(part)}`) +
        (this.strings[index + 1] as string);
    }
    return text;
  }
}

export interface CompiledSql {
  text: string;
  values: unknown[];
}

export function sql(strings: TemplateStringsArray, ...parts: unknown[]): Sql {
  return new Sql(strings, parts);
}

/** Returns `text` as SQL without escaping it. Never pass text from outside. */
export function raw(text: string): Sql {
  return new Sql([text], []);
}

export function join(fragments: readonly Sql[], separator: string): Sql {
  if (fragments.length === 0) return raw("");
  return new Sql(["", ...fragments.slice(1).map(() => separator), ""], fragments);
}

export type QueryClient = Pool | PoolClient;

export type RunSql = <Row>(client: QueryClient, statement: CompiledSql) => Promise<Row[]>;

/** Returns a function that runs statements. Its prepared statements have the same names on every connection. */
export function createSqlRunner(): RunSql {
  const statements = new PreparedStatementNames();
  return <Row>(client: QueryClient, { text, values }: CompiledSql) =>
    traceStatement(text, () => {
      const name = statements.nameOf(text);
      const { promise, resolve, reject } = Promise.withResolvers<Row[]>();
      // A callback: the promise of `pg` keeps rows alive past the young garbage collections
      // (docs/engineering/performance/optimizations.md).
      client.query<object>(name ? { name, text, values } : { text, values }, (error, result) => {
        if (error) reject(error);
        else resolve(result.rows as Row[]);
      });
      return promise;
    });
}

/** Each connection keeps its named statements in memory, so their number is limited. Further statements run unnamed. */
export const MAX_PREPARED_STATEMENTS = 300;
/** The number of unnamed texts whose uses are counted. At one more, counting starts again. */
export const MAX_COUNTED_TEXTS = 1_000;
/** A text gets a name at this use; a filter that a client uses once is not worth preparing. */
export const PREPARE_AFTER = 5;

/** Assigns names to frequently used statements, so that PostgreSQL prepares them once per connection. */
export class PreparedStatementNames {
  readonly #names = new Map<string, string>();
  readonly #uses = new Map<string, number>();

  /** Counts a use of `text` and returns its name, or undefined to run it unnamed. */
  nameOf(text: string): string | undefined {
    const name = this.#names.get(text);
    if (name !== undefined || this.#names.size >= MAX_PREPARED_STATEMENTS) return name;
    const uses = (this.#uses.get(text) ?? 0) + 1;
    if (uses < PREPARE_AFTER) {
      if (this.#uses.size >= MAX_COUNTED_TEXTS) this.#uses.clear();
      this.#uses.set(text, uses);
      return undefined;
    }
    const assigned = `w${this.#names.size}`;
    this.#names.set(text, assigned);
    this.#uses.delete(text);
    return assigned;
  }
}
