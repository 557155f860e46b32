/** What a statement does, in a few words that are the same for each of its kind: found in its text, where no value stands. */
import type { Attributes } from "./tracing.ts";

export interface StatementDescription {
  /** Such as `UPDATE job INSERT job_event`; of a statement that only reads, `SELECT job organization`. */
  readonly name: string;
  readonly attributes: Attributes;
}

const MAX_NAME_LENGTH = 120;
const MAX_TEXT_LENGTH = 2_048;
const MAX_CACHED_DESCRIPTIONS = 1_000;

/** Descriptions by text: statements are few, and come again and again. */
export class StatementDescriptions {
  readonly #known = new Map<string, StatementDescription>();

  of(text: string): StatementDescription {
    const known = this.#known.get(text);
    if (known) return known;
    const description = describeStatement(text);
    if (this.#known.size >= MAX_CACHED_DESCRIPTIONS) this.#known.clear();
    this.#known.set(text, description);
    return description;
  }
}

export function describeStatement(text: string): StatementDescription {
  const plain = text
    .replaceAll(/--[^\n]*/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
  const steps = new Set(plain.matchAll(CTE_PATTERN).map(([, name]) => name));
  const writes = [...plain.matchAll(WRITE_PATTERN)].map(([, verb = "", table = ""]) => ({
    verb: (verb.split(" ", 1)[0] ?? "").toUpperCase(),
    table,
  }));
  const reads = [...plain.matchAll(READ_PATTERN)]
    .map(([, table = ""]) => ({ verb: "SELECT", table }))
    .filter(({ table }) => !steps.has(table));
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
      "db.query.text": plain.length > MAX_TEXT_LENGTH ? `${plain.slice(0, MAX_TEXT_LENGTH)}…` : plain,
    },
  };
}

/** The steps of a `with` are no tables. */
const CTE_PATTERN = /\b(\w+)(?: \([^()]*\))? as (?:not )?(?:materialized )?\(/g;
const WRITE_PATTERN = /\b(insert into|(?<!\b(?:for|do) )update(?= \w+ (?:\w+ )?set\b)|delete from) (\w+)/g;
/** What a function gives is no table either, nor is what stands behind `is distinct from`. */
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
