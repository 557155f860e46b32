/** Who uses the MongoDB of a data folder: a file for each, so that a killed process leaves nothing that counts. */
import { randomBytes } from "node:crypto";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isRunning } from "./processes.ts";
import { ignore } from "./system-errors.ts";

export interface MongoUser {
  readonly folder: string;
  readonly name: string;
}

/** Those of this process: after a container's restart the number in a killed process's file can be our own. */
const own = new Set<string>();

export async function addUser(dataDir: string): Promise<MongoUser> {
  const user = {
    folder: join(dataDir, "mongo-users"),
    name: `${process.pid}-${randomBytes(4).toString("hex")}`,
  };
  await mkdir(user.folder, { mode: 0o700 }).catch(ignore("EEXIST"));
  await writeFile(join(user.folder, user.name), "", { mode: 0o600 });
  own.add(user.name);
  return user;
}

/** Removes it, and with it what killed processes left; true where nobody is left. */
export async function removeUser({ folder, name }: MongoUser): Promise<boolean> {
  own.delete(name);
  let isLast = true;
  for (const file of await readdir(folder)) {
    if (file !== name && (await isInUse(file))) isLast = false;
    else await rm(join(folder, file), { force: true });
  }
  return isLast;
}

async function isInUse(name: string): Promise<boolean> {
  const pid = Number.parseInt(name, 10);
  return pid === process.pid ? own.has(name) : isRunning(pid);
}
