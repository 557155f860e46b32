/** A process of its own, so that a download can be ended: puts a `mongod` below the folder named, and prints its path. */
import { MongoBinary } from "mongodb-memory-server-core";

const [downloadDir = ""] = process.argv.slice(2);
try {
  process.stdout.write(`\n${await MongoBinary.getPath({ downloadDir })}\n`);
} catch (error) {
  const [sentence] = String(error instanceof Error ? error.message : error).split("\n");
  process.stderr.write(`${sentence}\n`);
  process.exitCode = 1;
}
