/** The problems of an import by kind: what is wrong with which column, in how many rows. */
import type { ImportFailure, ImportPlan } from "./import-api.ts";

export interface ProblemKind {
  key: string;
  field: string | null;
  message: string;
  /** The rows that have it. */
  count: number;
  /** The first lines, and the texts of their cells. */
  examples: { line: number; text: string | undefined }[];
}

const MAX_EXAMPLES = 3;

/** The most frequent first. Messages that differ only in a quoted text are of one kind. */
export function problemKinds(
  { names, mapping }: Pick<ImportPlan, "names" | "mapping">,
  failures: readonly ImportFailure[],
): ProblemKind[] {
  const kinds = new Map<string, ProblemKind>();
  for (const { line, problems, cells } of failures)
    for (const { field, message: full } of problems) {
      const message = full.replace(/: "(?:[^"\\]|\\.)*"?…?$/, "");
      const key = JSON.stringify([field, message]);
      const kind = kinds.get(key) ?? { key, field, message, count: 0, examples: [] };
      kinds.set(key, kind);
      kind.count += 1;
      const column = field === null || cells?.length !== names.length ? -1 : mapping.indexOf(field);
      const text = cells?.[column];
      if (
        kind.examples.length < MAX_EXAMPLES &&
        kind.examples.every((example) => example.text !== text || text === undefined)
      )
        kind.examples.push({ line, text });
    }
  return [...kinds.values()].toSorted((one, other) => other.count - one.count);
}
