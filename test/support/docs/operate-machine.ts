/** A machine for the shell blocks of the operator guide: PostgreSQL's own programs, and a stand-in for `docker`. */
import { execFile, execFileSync, spawn } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { createTestMongo } from "../database/test-mongo.ts";
import { freePort } from "../free-port.ts";
import { waitForExit, type ProcessResult } from "../processes/cli-process.ts";
import { TEST_SECRET } from "../test-secret.ts";
import { readPage } from "./guide-pages.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../../..");
const PROGRAMS = ["initdb", "pg_ctl", "psql", "pg_dump", "pg_restore", "pg_basebackup", "createdb", "dropdb"];

export interface OperateMachine extends AsyncDisposable {
  /** The working directory of the blocks. */
  readonly folder: string;
  readonly env: Record<string, string>;
  /** Runs a block in bash. */
  run: (script: string, env?: Record<string, string>) => Promise<ProcessResult>;
}

function isOnPath(name: string): boolean {
  try {
    execFileSync("which", [name], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Returns which of PostgreSQL's programs the PATH lacks, or null. */
export function findMissingProgram(): string | null {
  return PROGRAMS.find((name) => !isOnPath(name)) ?? null;
}

/** Starts an empty PostgreSQL with a superuser and a database `waymark`, whose WAL goes to the folder `archive`. */
export async function startOperateMachine(): Promise<OperateMachine> {
  const folder = await mkdtemp(join(tmpdir(), "waymark-operate-"));
  const [bin, postgres, port] = [join(folder, "bin"), join(folder, "postgres"), String(await freePort())];
  for (const name of ["bin", "postgres", "archive", "logs", "backups"]) await mkdir(join(folder, name));
  await chmod(folder, 0o755);
  await symlink(join(import.meta.dirname, "compose-shim.sh"), join(bin, "docker"));
  await writeFile(join(bin, "sudo"), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
  const service = join(bin, "postgres-service");
  await writeFile(service, serviceScript({ folder, port }), { mode: 0o755 });
  if (process.getuid?.() === 0) await run("chown", ["65534", postgres, join(folder, "archive")]);
  const env = {
    PATH: [bin, dirname(process.execPath), process.env["PATH"]].join(delimiter),
    ROOT: root,
    COMPOSE_FILE: join(root, "docker-compose.yml"),
    LOGS: join(folder, "logs"),
    POSTGRES_SERVICE: service,
    PGDATA: join(postgres, "data"),
    PGHOST: "127.0.0.1",
    PGPORT: port,
    PGUSER: "waymark",
    DATABASE_URL: `postgresql://waymark@127.0.0.1:${port}/waymark`,
    MONGODB_URL: createTestMongo().url,
    WAYMARK_SECRET: TEST_SECRET,
    PUBLIC_URL: "https://api.example.com",
    WEBHOOK_ALLOW_PRIVATE: "on",
  };
  await writeFile(join(folder, "waymark.env"), `DATABASE_URL=${env.DATABASE_URL}\n`);
  await run(service, ["run", "initdb", "--username=waymark", "--auth=trust", "--encoding=UTF8"], { env });
  await run(service, ["start"], { env });
  await run("createdb", ["--username=waymark", "waymark"], { env });
  return {
    folder,
    env,
    run: (script, more = {}) =>
      waitForExit(
        spawn("bash", ["--norc", "-c", script], {
          cwd: folder,
          env: { ...env, ...more },
          stdio: ["ignore", "pipe", "pipe"],
        }),
      ),
    async [Symbol.asyncDispose]() {
      await run(service, ["stop"], { env });
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the `archive_command` of the guide, with `/archive/`, `%f` and `%p`. */
export function archiveCommand(): string {
  return /^archive_command = '(.+)'$/m.exec(readPage("operate/backup.md"))?.[1] ?? "";
}

/** PostgreSQL refuses to run as root. */
function serviceScript({ folder, port }: { folder: string; port: string }): string {
  const unprivileged = "setpriv --reuid=65534 --regid=65534 --clear-groups";
  const archive = archiveCommand().replaceAll("/archive/", `${folder}/archive/`);
  const flags = `-p ${port} -k ${folder}/postgres -c listen_addresses=127.0.0.1 -c archive_mode=on -c fsync=off`;
  return `#!/usr/bin/env bash
as() { if [ "$(id -u)" = 0 ]; then ${unprivileged} "$@"; else "$@"; fi; }
cd ${folder}/postgres
case "$1" in
  start) as pg_ctl status > /dev/null || as pg_ctl start -w -l ${folder}/postgres/log -o "${flags} -c archive_command='${archive}'" > /dev/null ;;
  stop) as pg_ctl stop -w -m fast > /dev/null ;;
  run) shift; as "$@" ;;
esac
`;
}
