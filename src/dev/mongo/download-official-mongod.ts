/** Downloads `mongod` into a folder and prints its path. A separate process, because the library cannot abort a download. */
import { MongoBinary } from "mongodb-memory-server-core";

const [downloadDir = ""] = process.argv.slice(2);
try {
  process.stdout.write(`\n${await MongoBinary.getPath({ downloadDir })}\n`);
} catch (error) {
  const [firstLine] = String(error instanceof Error ? error.message : error).split("\n");
  process.stderr.write(`${firstLine}\n`);
  process.exitCode = 1;
}
