/** Connects to the `mongod` of a folder, starts it if needed, and configures its replica set. */
import { MongoClient, MongoServerError, type Db, type Document } from "mongodb";
import { StartupError } from "../../platform/errors.ts";
import { findMongod, replicaSet, startMongod, type MongoFolder } from "./mongod.ts";
import type { StartupWait } from "../startup-wait.ts";

const retryDelayMs = 20;
/** MongoDB error codes. `invalidReplicaSetConfig` also occurs when the data folder was moved, so the socket path changed. */
const notYetInitialized = 94;
const invalidReplicaSetConfig = 93;
const alreadyInitialized = 23;

/** Returns the connection string of `folder`'s MongoDB. */
export function mongoUrl(folder: MongoFolder, database: string): string {
  return `mongodb://${encodeURIComponent(folder.socket)}/${database}?directConnection=true`;
}

/** Resolves to the process ID once `mongod` accepts writes. Throws StartupError. */
export async function attachMongod(
  folder: MongoFolder,
  findBinary: () => Promise<string>,
  wait: StartupWait,
): Promise<number> {
  for (;;) {
    const pid = await findMongod(folder);
    if (pid === null) await startMongod(folder, await findBinary(), wait);
    else if (await waitUntilWritable(folder, wait)) return pid;
  }
}

/** Returns false if the connection failed, so that the caller looks for the process again. */
async function waitUntilWritable(folder: MongoFolder, wait: StartupWait): Promise<boolean> {
  const client = new MongoClient(mongoUrl(folder, "admin"), {
    serverSelectionTimeoutMS: 500,
    maxPoolSize: 1,
  });
  try {
    await client.connect();
    const admin = client.db();
    while ((await admin.command({ hello: 1 }))["isWritablePrimary"] !== true) {
      await repairReplicaSet(admin, folder.socket);
      await wait.pauseOrFail("Waiting until MongoDB accepts writes.", retryDelayMs);
    }
    return true;
  } catch (error) {
    if (error instanceof StartupError) throw error;
    await wait.pauseOrFail("MongoDB is starting or stopping and does not respond yet.", retryDelayMs);
    return false;
  } finally {
    await client.close();
  }
}

/** Initiates the replica set, or updates its only member, whose host is the socket path, after the folder was moved. */
async function repairReplicaSet(admin: Db, socket: string): Promise<void> {
  const state = await errorCodeOf(admin.command({ replSetGetStatus: 1 }));
  if (state === notYetInitialized) {
    const config = { _id: replicaSet, members: [{ _id: 0, host: socket }] };
    const failure = await errorCodeOf(admin.command({ replSetInitiate: config }));
    if (failure !== null && failure !== alreadyInitialized)
      failWith("could not initiate its replica set", failure);
  } else if (state === invalidReplicaSetConfig) {
    const { config } = (await admin.command({ replSetGetConfig: 1 })) as { config: Document };
    const [member] = config["members"] as Document[];
    const moved = {
      ...config,
      version: Number(config["version"]) + 1,
      members: [{ ...member, host: socket }],
    };
    const failure = await errorCodeOf(admin.command({ replSetReconfig: moved, force: true }));
    if (failure !== null) failWith("could not rename the only member of its replica set", failure);
  }
}

function failWith(problem: string, code: number): never {
  throw new StartupError(
    `The embedded MongoDB ${problem} (MongoDB error ${code}).`,
    "See mongo.log in the data folder, or set MONGODB_URL to your own MongoDB.",
  );
}

/** Returns the MongoDB error code; null if the command succeeded. Rethrows other errors. */
async function errorCodeOf(command: Promise<Document>): Promise<number | null> {
  try {
    await command;
    return null;
  } catch (error) {
    if (error instanceof MongoServerError && typeof error.code === "number") return error.code;
    throw error;
  }
}
