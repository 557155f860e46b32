/** Derives a span name and attributes from the text of a statement, which contains no values. */
import type { Attributes } from "./tracing.ts";

export interface StatementDescription {
  /** For example `UPDATE job INSERT job_event`, or `SELECT job organization` for a statement that only reads. */
  readonly name: string;
  readonly attributes: Attributes;
}

const MAX_NAME_LENGTH = 120;
const MAX_TEXT_LENGTH = 2_048;
const MAX_CACHED_DESCRIPTIONS = 1_000;

/** Caches descriptions by text, since the same few statements repeat. */
export class StatementDescriptions {
  readonly #cache = new Map<string, StatementDescription>();

  of(text: string): StatementDescription {
    const cached = this.#cache.get(text);
    if (cached) return cached;
    const description = describeStatement(text);
    if (this.#cache.size >= MAX_CACHED_DESCRIPTIONS) this.#cache.clear();
    this.#cache.set(text, description);
    return description;
  }
}

/** Replaces the values that MikroORM writes into a statement, such as numbers and times, by `?`, and removes the quotes of names. */
export function maskLiterals(text: string): string {
  return text.replaceAll(LITERAL_PATTERN, "?").replaceAll('"', "");
}

export function describeStatement(text: string): StatementDescription {
  const normalized = text
    .replaceAll(/--[^\n]*/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
  const cteNames = new Set(normalized.matchAll(CTE_PATTERN).map(([, name]) => name));
  const writes = [...normalized.matchAll(WRITE_PATTERN)].map(([, verb = "", table = ""]) => ({
    verb: (verb.split(" ", 1)[0] ?? "").toUpperCase(),
    table,
  }));
  const reads = [...normalized.matchAll(READ_PATTERN)]
    .map(([, table = ""]) => ({ verb: "SELECT", table }))
    .filter(({ table }) => !cteNames.has(table));
  const parts = writes.length > 0 ? writes : reads;
  const [first] = parts;
  const name = joinParts(parts) || "SELECT";
  return {
    name,
    attributes: {
      "db.system.name": "postgresql",
      "db.operation.name": first?.verb ?? "SELECT",
      ...(first && { "db.collection.name": first.table }),
      "db.query.summary": name,
      "db.query.text":
        normalized.length > MAX_TEXT_LENGTH ? `${normalized.slice(0, MAX_TEXT_LENGTH)}…` : normalized,
    },
  };
}

/** Strings, with backslashes as escapes only after `E`, and numbers, but not those of parameters (`$1`). */
const LITERAL_PATTERN = /\bE'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|(?<![\w"$])\d+(?:\.\d+)?\b/gi;
/** Names of common table expressions, which are not tables. */
const CTE_PATTERN = /\b(\w+)(?: \([^()]*\))? as (?:not )?(?:materialized )?\(/g;
const WRITE_PATTERN = /\b(insert into|(?<!\b(?:for|do) )update(?= \w+ (?:\w+ )?set\b)|delete from) (\w+)/g;
/** Tables after `from` and `join`, except function calls and `is distinct from`. */
const READ_PATTERN = /\b(?<!distinct |epoch )(?:from|join) (?:only )?([a-z_]\w*)\b(?!\s*[(.])/g;

function joinParts(parts: readonly { verb: string; table: string }[]): string {
  let last = "";
  const words: string[] = [];
  for (const part of new Set(parts.map(({ verb, table }) => `${verb} ${table}`))) {
    const [verb = "", table = ""] = part.split(" ");
    words.push(verb === last && verb === "SELECT" ? table : part);
    last = verb;
  }
  const summary = words.join(" ");
  return summary.length > MAX_NAME_LENGTH ? `${summary.slice(0, MAX_NAME_LENGTH)}…` : summary;
}
