/** Runs the steps of Dockerfile and docker-compose.yml without a container engine. */
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { TEST_SECRET } from "../support/test-secret.ts";
import { startServerProcess } from "../support/processes/server-process.ts";
import { createTestDatabase, type TestDatabase } from "../support/database/test-database.ts";
import { createTestMongo, type TestMongo } from "../support/database/test-mongo.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

interface Compose {
  services: Record<string, { command?: string[]; environment: Record<string, string> }>;
}

let image: string;
let database: TestDatabase;
let mongo: TestMongo;
beforeAll(async () => {
  image = await mkdtemp(join(tmpdir(), "waymark-image-"));
  database = await createTestDatabase();
  mongo = createTestMongo();
});
afterAll(async () => {
  await rm(image, { recursive: true, force: true });
  await database[Symbol.asyncDispose]();
  await mongo[Symbol.asyncDispose]();
});

it("installs, migrates, serves, passes the health check and stops as in the image", async () => {
  const dockerfile = await readFile(join(root, "Dockerfile"), "utf8");
  const compose = parse(withDefaults(await readFile(join(root, "docker-compose.yml"), "utf8")), {
    merge: true,
  }) as Compose;
  const api = compose.services["api"];
  const migrate = compose.services["migrate"];
  const given = {
    DATABASE_URL: database.url,
    MONGODB_URL: mongo.url,
    WAYMARK_SECRET: TEST_SECRET,
    // Both processes run on this machine.
    METRICS_PORT: "",
  };
  const env = { ...environmentOf(dockerfile), ...api?.environment, ...given };

  for (const source of ["package.json", "package-lock.json", ".npmrc"])
    await cp(join(root, source), join(image, source));
  const [, install = ""] = /^RUN (npm .+)$/m.exec(dockerfile) ?? [];
  expect(install).toContain("npm ci");
  await run("sh", ["-c", install], { cwd: image });
  for (const [, source = ""] of dockerfile.matchAll(/^COPY (\w+) \1$/gm))
    await cp(join(root, source), join(image, source), { recursive: true });
  await buildSite(dockerfile);

  const [, ...migration] = migrate?.command ?? [];
  await run(process.execPath, migration, { cwd: image, env });

  await using server = await startServerProcess({ ...env, HOST: "127.0.0.1" }, { cwd: image });
  await server.waitUntilReady();
  const [, check = ""] = /CMD \["node", "-e", "(.+)"\]/.exec(dockerfile) ?? [];
  await run(process.execPath, ["-e", check], { env: { PORT: new URL(server.url).port } });
  expect((await fetch(`${server.url}/v1/jobs`)).status).toBe(401);
  const page = await fetch(`${server.url}/`, { headers: { accept: "text/html" } });
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<div id="root">')]);

  const ofWorker = { ...environmentOf(dockerfile), ...compose.services["worker"]?.environment, ...given };
  await using worker = await startServerProcess({ ...ofWorker, HOST: "127.0.0.1" }, { cwd: image });
  await worker.waitUntilReady();
  expect((await fetch(`${worker.url}/v1/jobs`)).status).toBe(404);
  expect(await Promise.all([server.kill("SIGTERM"), worker.kill("SIGTERM")])).toEqual([0, 0]);
}, 180_000);

/** Replaces `${NAME:-value}` by the default, as Docker Compose does for unset variables. */
function withDefaults(compose: string): string {
  return compose.replaceAll(/\$\{\w+:-([^}]*)\}/g, "$1");
}

/** Builds the console, the guide and the clients as the stage `site` does, but with the installed packages. */
async function buildSite(dockerfile: string): Promise<void> {
  const [, stage = ""] = /^FROM \S+ AS site\n(.+?)\n\n/ms.exec(dockerfile) ?? [];
  expect(stage).toContain("RUN node src/build.ts");
  const copied = [...stage.matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, names = ""]) => names.split(" "));
  expect(dockerfile).toContain("COPY --from=site /app/.site .site");
  const folder = await mkdtemp(join(tmpdir(), "waymark-console-stage-"));
  try {
    for (const name of copied) await cp(join(root, name), join(folder, name), { recursive: true });
    await symlink(join(root, "node_modules"), join(folder, "node_modules"));
    await run(process.execPath, ["src/build.ts"], { cwd: folder });
    await cp(join(folder, ".site"), join(image, ".site"), { recursive: true });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function environmentOf(dockerfile: string): Record<string, string> {
  const [, line = ""] = /^ENV (.+)$/m.exec(dockerfile) ?? [];
  return Object.fromEntries(line.split(" ").map((pair) => pair.split("=") as [string, string]));
}
