/**
 * Holds an embedded database in a process of its own, for tests that kill processes. Arguments: the data folder, and
 * `exclusive` or `shared` for PostgreSQL, or `mongo` and the program `mongod`. Prints what it waits for and what came of it, each a line of JSON; lets go when its standard input ends.
 */
import { once } from "node:events";
import { readOrCreateSecret } from "../../../src/embedded/data-folder.ts";
import { openEmbeddedMongo } from "../../../src/embedded/mongo/embedded-mongo.ts";
import { openEmbeddedPostgres } from "../../../src/embedded/postgres/embedded-postgres.ts";

const [dataDir = "", mode, binary = ""] = process.argv.slice(2);

const print = (line: object): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);

const holdUntilStdinEnds = async (url: string): Promise<void> => {
  print({ url });
  process.stdin.resume();
  await once(process.stdin, "end");
};

try {
  if (mode === "secret") {
    print({ secret: await readOrCreateSecret(dataDir) });
  } else if (mode === "mongo") {
    await using held = openEmbeddedMongo({ dataDir, binary, cacheDir: dataDir, download: false });
    await holdUntilStdinEnds(await held.url);
  } else {
    await using held = await openEmbeddedPostgres({
      dataDir,
      exclusive: mode === "exclusive",
      onProgress: (told) => print({ told }),
    });
    await holdUntilStdinEnds(held.url);
  }
} catch (error) {
  const { name, message } = error as Error;
  print({ error: { name, message, hint: (error as { hint?: string }).hint } });
  process.exitCode = 1;
}
