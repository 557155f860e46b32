/**
 * Uses an embedded database in a separate process, for tests that kill processes. Arguments: the data folder, then
 * `exclusive` or `shared` (PostgreSQL), or `mongo` and the path of `mongod`. Prints progress messages and the
 * result as lines of JSON. Releases the database when its standard input ends.
 */
import { once } from "node:events";
import { openEmbeddedMongo } from "../../../src/dev/mongo/embedded-mongo.ts";
import { openEmbeddedPostgres } from "../../../src/dev/postgres/embedded-postgres.ts";

const [dataDir = "", mode, binary = ""] = process.argv.slice(2);

const print = (line: object): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);

const holdUntilStdinEnds = async (url: string): Promise<void> => {
  print({ url });
  process.stdin.resume();
  await once(process.stdin, "end");
};

try {
  if (mode === "mongo") {
    await using mongo = openEmbeddedMongo({ dataDir, binary, cacheDir: dataDir, download: "off" });
    await holdUntilStdinEnds(await mongo.url);
  } else {
    await using postgres = await openEmbeddedPostgres({
      dataDir,
      exclusive: mode === "exclusive",
      onProgress: (progress) => print({ progress }),
    });
    await holdUntilStdinEnds(postgres.url);
  }
} catch (error) {
  const { name, message } = error as Error;
  print({ error: { name, message, hint: (error as { hint?: string }).hint } });
  process.exitCode = 1;
}
