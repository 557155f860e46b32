/** Traces SQL statements, named after the text of the statement. */
import { SpanKind, type Attributes } from "@opentelemetry/api";
import type { PoolClient } from "pg";
import { startSpan, withSpan } from "./tracing.ts";

/** Runs a statement with this text, in a span if the request or task is traced. */
export function traceStatement<T>(text: string, work: () => Promise<T>): Promise<T> {
  const span = startSpan("SQL", { kind: SpanKind.CLIENT });
  if (span === null) return work();
  const { name, attributes } = describeCached(text);
  return withSpan(span.updateName(name).setAttributes(attributes), work);
}

/** Traces the statements of MikroORM on a new connection. */
export function traceConnection(client: PoolClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<object>;
  const tracedQuery = (...args: unknown[]): Promise<object> => {
    const [text, values] = args;
    // Only MikroORM calls it with a text and an array.
    const isTraced = typeof text === "string" && Array.isArray(values);
    return isTraced ? traceStatement(text, () => query(...args)) : query(...args);
  };
  client.query = tracedQuery as typeof client.query;
}

interface StatementDescription {
  /** The first change of the statement, such as `UPDATE job`, or else the first table that it reads. */
  readonly name: string;
  readonly attributes: Attributes;
}

const MAX_TEXT_LENGTH = 2_048;
const MAX_CACHED_DESCRIPTIONS = 1_000;
const descriptions = new Map<string, StatementDescription>();

function describeCached(text: string): StatementDescription {
  const cached = descriptions.get(text);
  if (cached) return cached;
  if (descriptions.size >= MAX_CACHED_DESCRIPTIONS) descriptions.clear();
  const description = describeStatement(text);
  descriptions.set(text, description);
  return description;
}

/** Comments; strings, with backslashes as escapes only after `E`; and numbers, but not those of parameters (`$1`). */
const COMMENT_OR_VALUE = /--[^\n]*|\bE'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|(?<![\w"$])\d+(?:\.\d+)?\b/gi;
/** Names of common table expressions, which are not tables. */
const CTE_PATTERN = /\b(\w+)(?: \([^()]*\))? as (?:not )?(?:materialized )?\(/g;
const WRITE_PATTERN =
  /\b(insert(?= into)|(?<!\b(?:for|do) )update(?= \w+ (?:\w+ )?set\b)|delete(?= from))(?: into| from)? (\w+)/;
/** Tables after `from` and `join`, except function calls and `is distinct from`. */
const READ_PATTERN = /\b(?<!distinct |epoch )(?:from|join) (?:only )?([a-z_]\w*)\b(?!\s*[(.])/g;

/** Replaces the values that MikroORM writes into a statement, such as numbers and times, by `?`. */
export function describeStatement(text: string): StatementDescription {
  const masked = text
    .replaceAll(COMMENT_OR_VALUE, (match) => (match.startsWith("--") ? " " : "?"))
    .replaceAll('"', "")
    .replaceAll(/\s+/g, " ")
    .trim();
  const cteNames = new Set(masked.matchAll(CTE_PATTERN).map(([, name]) => name));
  const [, verb = "select", written] = WRITE_PATTERN.exec(masked) ?? [];
  const reads = masked.matchAll(READ_PATTERN).map(([, name]) => name);
  const table = written ?? reads.find((name) => !cteNames.has(name));
  const operation = verb.toUpperCase();
  const name = table === undefined ? operation : `${operation} ${table}`;
  return {
    name,
    attributes: {
      "db.system.name": "postgresql",
      "db.operation.name": operation,
      "db.collection.name": table,
      "db.query.summary": name,
      "db.query.text": masked.length > MAX_TEXT_LENGTH ? `${masked.slice(0, MAX_TEXT_LENGTH)}…` : masked,
    },
  };
}
