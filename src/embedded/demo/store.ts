/** What is kept of the demo in the data folder, so that it can be shown again: the database has only hashes. */
import { readFile, writeFile } from "node:fs/promises";
import { z } from "zod";

/** The entries of `file` that read as `entry`. None is no reason not to start: it is not there yet, or damaged. */
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

/** For nobody else to read. */
export async function writeEntries(file: string, entries: object): Promise<void> {
  await writeFile(file, `${JSON.stringify(entries, null, 2)}\n`, { mode: 0o600 });
}
