/** Stores the demo's keys and passwords in the data folder, because the database contains only their hashes. */
import { readFile, writeFile } from "node:fs/promises";
import { z } from "zod";

/** Returns the valid entries of `file`; an empty object if it is missing or damaged. */
export async function readEntries<Entry>(
  file: string,
  entry: z.ZodType<Entry>,
): Promise<Partial<Record<string, Entry>>> {
  try {
    return z
      .record(z.string(), entry.optional().catch(undefined))
      .parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    return {};
  }
}

/** Overwrites the file; mode 0600 for a new file. */
export async function writeEntries(file: string, entries: object): Promise<void> {
  await writeFile(file, `${JSON.stringify(entries, null, 2)}\n`, { mode: 0o600 });
}
