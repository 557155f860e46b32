/** Who uses the MongoDB of a data folder: a file for each, so that a killed process leaves nothing that counts. */
import { randomBytes } from "node:crypto";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isRunning } from "../processes.ts";
import { ignoreCode } from "../system-errors.ts";

export interface MongoReference {
  readonly folder: string;
  readonly name: string;
}

/** Those of this process: after a container's restart the number in a killed process's file can be our own. */
const ownReferences = new Set<string>();

export async function retainMongo(dataDir: string): Promise<MongoReference> {
  const reference = {
    folder: join(dataDir, "mongo-users"),
    name: `${process.pid}-${randomBytes(4).toString("hex")}`,
  };
  await mkdir(reference.folder, { mode: 0o700 }).catch(ignoreCode("EEXIST"));
  await writeFile(join(reference.folder, reference.name), "", { mode: 0o600 });
  ownReferences.add(reference.name);
  return reference;
}

/** Removes it, and with it what killed processes left; true where nobody is left. */
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
