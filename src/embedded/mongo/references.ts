/** Counts the users of a data folder's MongoDB: one file per reference, named by process ID. Dead processes do not count. */
import { randomBytes } from "node:crypto";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isRunning } from "../processes.ts";
import { ignoreCode } from "../system-errors.ts";

export interface MongoReference {
  readonly folder: string;
  readonly name: string;
}

/** References of this process. After a container restart, a killed process's file can contain our process ID. */
const ownReferences = new Set<string>();

/** Adds a reference. */
export async function retainMongo(dataDir: string): Promise<MongoReference> {
  const reference = {
    folder: join(dataDir, "mongo-references"),
    name: `${process.pid}-${randomBytes(4).toString("hex")}`,
  };
  await mkdir(reference.folder, { mode: 0o700 }).catch(ignoreCode("EEXIST"));
  await writeFile(join(reference.folder, reference.name), "", { mode: 0o600 });
  ownReferences.add(reference.name);
  return reference;
}

/** Removes the reference and those of dead processes. Returns true if none is left. */
export async function releaseMongo({ folder, name }: MongoReference): Promise<boolean> {
  ownReferences.delete(name);
  let isUnused = true;
  for (const file of await readdir(folder)) {
    if (file !== name && (await isInUse(file))) isUnused = false;
    else await rm(join(folder, file), { force: true });
  }
  return isUnused;
}

async function isInUse(name: string): Promise<boolean> {
  const pid = Number.parseInt(name, 10);
  return pid === process.pid ? ownReferences.has(name) : isRunning(pid);
}
