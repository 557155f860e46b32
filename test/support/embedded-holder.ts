/**
 * Holds the embedded PostgreSQL in a process of its own, for tests that kill processes. Arguments: the data folder and
 * `exclusive` or `shared`. Prints one line of JSON; lets go when its standard input ends.
 */
import { once } from "node:events";
import { readOrCreateSecret } from "../../src/embedded/data-folder.ts";
import { openEmbeddedPostgres } from "../../src/embedded/postgres.ts";

const [dataDir = "", mode] = process.argv.slice(2);

const print = (line: object): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);

try {
  if (mode === "secret") {
    print({ secret: await readOrCreateSecret(dataDir) });
  } else {
    await using held = await openEmbeddedPostgres({ dataDir, exclusive: mode === "exclusive" });
    print({ url: held.url });
    process.stdin.resume();
    await once(process.stdin, "end");
  }
} catch (error) {
  const { name, message } = error as Error;
  print({ error: { name, message, hint: (error as { hint?: string }).hint } });
  process.exitCode = 1;
}
