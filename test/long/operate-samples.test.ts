/** Runs the shell blocks of the operator guide on PostgreSQL's own programs, with a stand-in for `docker`. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdir, writeFile, chmod, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, delimiter, dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../support/free-port.ts";
import { startServerProcess, type ServerProcess } from "../support/processes/server-process.ts";
import { codeBlocks, readPage } from "../support/docs/guide-pages.ts";
import { execFile, spawn, spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import { createTestMongo } from "../support/database/test-mongo.ts";
import { waitForExit } from "../support/processes/cli-process.ts";
import { TEST_SECRET } from "../support/test-secret.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const PROGRAMS = ["initdb", "pg_ctl", "psql", "pg_dump", "pg_restore", "pg_basebackup", "createdb", "dropdb"];

/** Starts an empty PostgreSQL with a superuser and a database `waymark`, whose WAL goes to the folder `archive`. */
async function startOperateMachine() {
  const folder = await mkdtemp(join(tmpdir(), "waymark-operate-"));
  const [bin, postgres, port] = [join(folder, "bin"), join(folder, "postgres"), String(await freePort())];
  for (const name of ["bin", "postgres", "archive", "logs", "backups"]) await mkdir(join(folder, name));
  // PostgreSQL runs as another user, for whom the run's folder (mode 0700) is closed.
  for (const path of [folder, dirname(tmpdir())]) await chmod(path, 0o711);
  await symlink(join(root, "test/support/docs/compose-shim.sh"), join(bin, "docker"));
  await writeFile(join(bin, "sudo"), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
  const service = join(bin, "postgres-service");
  const url = `postgresql://waymark@127.0.0.1:${port}/waymark`;
  await writeFile(service, serviceScript({ folder, port }), { mode: 0o755 });
  if (process.getuid?.() === 0) await run("chown", ["65534", postgres, join(folder, "archive")]);
  const env: Record<string, string> = {
    PATH: [bin, dirname(process.execPath), process.env["PATH"]].join(delimiter),
    ROOT: root,
    COMPOSE_FILE: join(root, "docker-compose.yml"),
    LOGS: join(folder, "logs"),
    POSTGRES_SERVICE: service,
    PGDATA: join(postgres, "data"),
    PGHOST: "127.0.0.1",
    PGPORT: port,
    PGUSER: "waymark",
    DATABASE_URL: url,
    MONGODB_URL: createTestMongo().url,
    WAYMARK_SECRET: TEST_SECRET,
    PUBLIC_URL: "https://api.example.com",
    WEBHOOK_ALLOW_PRIVATE: "on",
  };
  await writeFile(join(folder, "waymark.env"), `DATABASE_URL=${url}\n`);
  await run(service, ["run", "initdb", "--username=waymark", "--auth=trust", "--encoding=UTF8"], { env });
  await run(service, ["start"], { env });
  await run("createdb", ["--username=waymark", "waymark"], { env });
  return {
    /** The working directory of the blocks. */
    folder,
    env,
    /** Runs a block in bash. */
    run: (script: string, more: Record<string, string> = {}) =>
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
function archiveCommand(): string {
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

let machine: Awaited<ReturnType<typeof startOperateMachine>>;

/** Returns the shell blocks under the headings, in the order of the page. */
function blocksUnder(page: string, ...headings: string[]): string[] {
  const sections = readPage(`operate/${page}`).split(/^(?=##+ )/m);
  const chosen =
    headings.length === 0 ? sections : sections.filter((text) => headings.includes(titleOf(text)));
  expect(chosen.length).toBeGreaterThanOrEqual(headings.length);
  return chosen.flatMap((text) =>
    codeBlocks(text)
      .filter(({ language }) => language === "bash")
      .map((block) => block.text),
  );
}

/** The functions `waymark` and `sql` for Compose. */
const FUNCTIONS = [blocksUnder("install.md", "Run commands"), blocksUnder("runbooks.md", "Before you start")]
  .map(([withCompose = ""]) => `${withCompose}\n`)
  .join("");

function titleOf(section: string): string {
  return /^##+ (.+)\n/.exec(section)?.[1] ?? "";
}

/** Runs a script, expects exit code 0, or 1 of a search without result, and returns its standard output. */
async function outputOf(script: string, env: Record<string, string> = {}): Promise<string> {
  const searches = /\bgrep\b/.test(script);
  const own = script.replaceAll("/etc/waymark/waymark.env", `${machine.folder}/waymark.env`);
  const { code, stdout, stderr } = await machine.run(
    `${searches ? "" : "set -eo pipefail\n"}${FUNCTIONS}${own}`,
    env,
  );
  expect([0, ...(searches ? [1] : [])], `${script}\n${stdout}\n${stderr}`).toContain(code);
  expect(stderr, `stderr of ${script}`).not.toMatch(/error:|unknown|not found|Usage/i);
  return stdout;
}

/** The prefix of the key in the pages. */
const KEY = "wmk_ab12cd34";

const waymark = (args: string): Promise<string> => outputOf(`node "$ROOT/src/cli/main.ts" ${args}`);
const waymarkJson = async <T>(args: string): Promise<T> => JSON.parse(await waymark(`${args} --json`)) as T;
async function newKeyPrefix(): Promise<string> {
  return (await waymarkJson<{ prefix: string }>("key create --org 'Example Agency'")).prefix;
}
const countJobs = async (): Promise<number> =>
  Number(await outputOf(`psql "$DATABASE_URL" --tuples-only --command="select count(*) from job"`));

/** Starts the API or a worker on the machine's database, and tells `docker` where it is. */
async function startRole(role: "api" | "worker"): Promise<ServerProcess> {
  const metricsPort = String(await freePort());
  const { DATABASE_URL = "", MONGODB_URL = "", WAYMARK_SECRET = "" } = machine.env;
  const settings = {
    DATABASE_URL,
    MONGODB_URL,
    WAYMARK_SECRET,
    WAYMARK_ROLE: role,
    METRICS_PORT: metricsPort,
  };
  const server = await startServerProcess({ ...settings, WEBHOOK_ALLOW_PRIVATE: "on" });
  await server.waitUntilReady();
  machine.env[`${role.toUpperCase()}_PORT`] = new URL(server.url).port;
  machine.env[`${role.toUpperCase()}_METRICS_PORT`] = metricsPort;
  return server;
}

// PostgreSQL's programs are not everywhere.
const isMissing = spawnSync("which", PROGRAMS).status !== 0;
describe.skipIf(isMissing)("the shell blocks of", () => {
  beforeAll(async () => {
    machine = await startOperateMachine();
    const jobs = "marking_number,recipient_name\nMN-1,First\nMN-2,Second\n";
    await writeFile(join(machine.folder, "jobs.csv"), jobs);
  });
  afterAll(() => machine[Symbol.asyncDispose]());

  it("Install: print the secret, create an operator, an organisation and a key, and import jobs", async () => {
    const [secret = ""] = blocksUnder("install.md", "2. Keep a copy of the secrets");
    expect(await outputOf(`${secret}\ncat waymark-secret.txt`)).toContain(
      `\n${machine.env["WAYMARK_SECRET"]}\n`,
    );

    const [operator = ""] = blocksUnder("install.md", "4. Create the first operator");
    expect(await outputOf(operator)).toMatch(/https:\/\/api\.example\.com\/\S+/);

    await using api = await startRole("api");
    const [create = "", request = "", importJobs = ""] = blocksUnder(
      "install.md",
      "5. Create an organisation and a key",
    );
    const [key = ""] = /wmk_[\w-]{30,}/.exec(await outputOf(create)) ?? [];
    await outputOf(importJobs);
    const filled = request.replace(/wmk_…/, key).replace("http://127.0.0.1:4000", api.url);
    expect(JSON.parse(await outputOf(filled))).toMatchObject({
      error: null,
      data: { pagination: { total: 2 } },
    });
  });

  // Some 50 commands, each a process.
  it("Runbooks run, and find what they name", { timeout: 900_000 }, async () => {
    await using api = await startRole("api");
    await using worker = await startRole("worker");
    const receiver = createServer((_, response) => response.writeHead(204).end()).listen(0, "127.0.0.1");
    onTestFinished(() => void receiver.close());
    await once(receiver, "listening");
    const { port } = receiver.address() as AddressInfo;
    await waymark(`endpoint create --org 'Example Agency' --url http://127.0.0.1:${port}/`);
    const { items: endpoints } = await waymarkJson<{ items: { id: string }[] }>("endpoint list");
    const { items: organizations } = await waymarkJson<{ items: { id: string }[] }>("org list");
    const endpoint = endpoints[0]?.id ?? "";
    await waymark(`endpoint test ${endpoint}`);
    await outputOf("printf 'marking_number\\nMN-3\\n' > more.csv");
    await waymark('jobs import more.csv --agent "Example Agency"');
    const workerMetrics = `http://127.0.0.1:${machine.env["WORKER_METRICS_PORT"]}/metrics`;
    await expect
      .poll(() => fetch(workerMetrics).then((response) => response.text()))
      .toContain("waymark_webhook_attempt_duration_seconds_count");
    const { items: deliveries } = await waymarkJson<{ items: { id: string }[] }>(
      `deliveries list --endpoint ${endpoint}`,
    );
    for (const [name, server] of Object.entries({ api, worker, postgres: api, mongodb: api }))
      await writeFile(join(machine.folder, "logs", `${name}.log`), server.output());

    // The first two blocks define functions. Another test runs statements with a placeholder, \password asks, and a certificate
    // is of the internet.
    const blocks = blocksUnder("runbooks.md").slice(2);
    const runnable = blocks.filter(
      (block) => !/PID|GID|NAME|\\password|openssl s_client|certbot/.test(block),
    );
    expect(runnable.length).toBeGreaterThan(20);
    const found: string[] = [];
    for (const block of runnable) {
      const filled = (block.includes(KEY) ? block.replaceAll(KEY, await newKeyPrefix()) : block)
        .replaceAll(/whe_\w{26}/g, endpoint)
        .replaceAll(/dlv_\w{26}/g, deliveries[0]?.id ?? "")
        .replaceAll(/org_\w{26}/g, organizations[0]?.id ?? "")
        .replaceAll("http://127.0.0.1:4000", api.url)
        // It needs a user who has registered by e-mail.
        .replace(/^waymark user reset-two-factor .*$/m, "");
      const output = await outputOf(filled);
      if (/key list \||metrics (?:api|worker) \|/.test(block)) found.push(output);
    }
    expect(found.length).toBeGreaterThan(3);
    expect(found).not.toContain("");
  });

  it("Back up: a dump restores every job, with Compose and without", async () => {
    const [dump = "", plainDump = ""] = blocksUnder("backup.md", "Dump");
    const [restore = "", plainRestore = ""] = blocksUnder("backup.md", "Restore a dump");
    const [afterRestore = ""] = blocksUnder("backup.md", "Restore");
    const today = new Date().toISOString().slice(0, 10);
    const jobs = await countJobs();
    expect(jobs).toBeGreaterThan(1);
    for (const [take, put] of [
      [dump, restore],
      [plainDump, plainRestore],
    ] as const) {
      await outputOf(take);
      // The functions of a block are those of the next ones, too.
      const defined = take.split("\n").filter((line) => line.includes("() {"));
      await outputOf(`psql "$DATABASE_URL" --command="truncate job cascade"`);
      await outputOf([...defined, put.replaceAll("2026-11-22", today)].join("\n"));
      expect(await outputOf(afterRestore)).toContain("The restored database is ready.");
      expect(await countJobs()).toBe(jobs);
    }
  });

  it("Back up: the nightly script leaves a complete dump, and none if it fails", async () => {
    const [script = ""] = blocksUnder("backup.md", "Every night");
    const own = script.replace("/srv/waymark", machine.folder).replace("/backups/", "backups/");
    const dumps = () => readdir(join(machine.folder, "backups"));
    const failed = await machine.run(own.replace("--format=custom", "--format=wrong"));
    expect(failed.code).not.toBe(0);
    expect((await dumps()).filter((name) => name.endsWith(".dump"))).toEqual([]);
    await outputOf(own);
    expect(await dumps()).toEqual([expect.stringMatching(/^waymark-\d{4}-\d{2}-\d{2}\.dump$/)]);
  });

  it("Back up: the archive keeps a file, accepts it twice, and rejects another of its name", async () => {
    const archive = (content: string) => {
      const command = archiveCommand()
        .replaceAll("/archive/", "backups/")
        .replaceAll("%f", "SEGMENT")
        .replaceAll("%p", "segment");
      return machine.run(`printf ${content} > segment; ${command}`);
    };
    expect(readPage("operate/backup.md")).toContain(`- archive_command=${archiveCommand()}`);
    await writeFile(join(machine.folder, "backups", "SEGMENT.tmp"), "cut off");
    expect((await archive("first")).code).toBe(0);
    expect((await archive("first")).code).toBe(0);
    expect((await archive("other")).code).not.toBe(0);
    expect(await outputOf("gunzip < backups/SEGMENT.gz")).toBe("first");
  });

  it("Back up: a base backup and the archive restore a moment", async () => {
    const [, check = "", baseBackup = ""] = blocksUnder("backup.md", "Continuous archiving");
    const [reset = "", recover = ""] = blocksUnder("backup.md", "Point-in-time recovery");
    expect(await outputOf(check)).toMatch(/last_archived_wal/);
    await outputOf(baseBackup);
    await waymark("org create --name Kept --type agent");
    const moment = (
      await outputOf(`psql "$DATABASE_URL" --tuples-only --no-align --command="select now()"`)
    ).trim();
    await waymark("org create --name Lost --type agent");
    await outputOf(`psql "$DATABASE_URL" --command="select pg_switch_wal()"`);
    const today = new Date().toISOString().slice(0, 10);
    await outputOf(
      recover
        .replaceAll("base-2026-11-22", `base-${today}`)
        .replaceAll("2026-11-22 14:05:00+00", moment)
        .replaceAll("/archive/", `${machine.folder}/archive/`),
    );
    await expect
      .poll(() => outputOf(`psql "$DATABASE_URL" --tuples-only --command="select pg_is_in_recovery()"`))
      .toContain("f");
    await outputOf(blocksUnder("backup.md", "Restore")[0] ?? "");
    const names = (await waymarkJson<{ items: { name: string }[] }>("org list")).items.map(
      ({ name }) => name,
    );
    expect(names).toContain("Kept");
    expect(names).not.toContain("Lost");
    const setting = async (): Promise<string> => await outputOf(`cat "$PGDATA/postgresql.auto.conf"`);
    expect(await setting()).toContain("recovery_target_time");
    await outputOf(reset);
    expect(await setting()).not.toMatch(/recovery_target|restore_command/);
  });

  it("Upgrade: a dump moves to a new major version of PostgreSQL", async () => {
    const [dump = "", restore = ""] = blocksUnder("upgrade.md", "PostgreSQL");
    const jobs = await countJobs();
    await outputOf(dump.replace("docker compose down", "true"));
    await outputOf("dropdb --force waymark && createdb waymark");
    await outputOf(restore);
    expect(await countJobs()).toBe(jobs);
  });

  it("Back up: a lost secret is replaced", async () => {
    const accept = blocksUnder("runbooks.md", "The secret leaks").find((block) =>
      block.startsWith("waymark accept-secret"),
    );
    const WAYMARK_SECRET = randomBytes(32).toString("base64");
    expect(await outputOf(accept ?? "", { WAYMARK_SECRET })).toContain("endpoint rotate-secret whe_");
  });
});
