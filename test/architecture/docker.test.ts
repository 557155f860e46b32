import { existsSync } from "node:fs";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { parseSecret } from "../../src/core/secret-box.ts";
import { parseSmtpUrl } from "../../src/core/mail.ts";
import { TEST_SECRET } from "../support/test-secret.ts";

const run = promisify(execFile);

interface Service {
  build?: string;
  image: string;
  user?: string;
  logging?: unknown;
  entrypoint?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  cap_add?: string[];
  security_opt?: string[];
  volumes?: string[];
  command?: string[];
  restart?: string;
  ports?: string[];
  healthcheck?: { test?: string[] };
  environment?: Record<string, string>;
  depends_on?: Record<string, unknown>;
}

const root = join(import.meta.dirname, "..", "..");
const read = (path: string) => readFile(join(root, path), "utf8");

/** Returns the instructions of a Dockerfile, without comments and with continued lines joined. */
function instructions(text: string): string[] {
  const code = text.split("\n").filter((line) => !line.startsWith("#"));
  return code.join("\n").replaceAll("\\\n", " ").split("\n").filter(Boolean);
}

/** A setting of the C library, not of Waymark (decision 0042). */
const MALLOC = "MALLOC_MMAP_THRESHOLD_";

describe("the Dockerfile", () => {
  let lines: string[];

  beforeAll(async () => {
    lines = instructions(await read("Dockerfile"));
  });

  it("copies only what exists and what .dockerignore lets through", async () => {
    const copies = lines.filter((line) => line.startsWith("COPY ") && !line.includes("--from="));
    const sources = copies.flatMap((line) => line.split(/\s+/).slice(1, -1));
    const allowed = new Set((await read(".dockerignore")).split("\n"));

    expect(sources).toContain("src");
    expect(sources.filter((source) => !existsSync(join(root, source)))).toEqual([]);
    // Allowing a folder allows everything in it.
    expect(sources.filter((source) => !allowed.has(`!${source.split("/")[0]}`))).toEqual([]);
  });

  it("runs the Node version from package.json and .node-version", async () => {
    const { dependencies } = JSON.parse(await read("package.json"));
    const images = lines.flatMap((line) => /^FROM node:([\d.]+)/.exec(line)?.[1] ?? []);

    expect(new Set(images)).toEqual(new Set([dependencies.node]));
    expect((await read(".node-version")).trim()).toBe(dependencies.node);
  });

  it("starts Node as a non-root user, with the same memory settings as npm start", async () => {
    const launcher = await read("src/start.mjs");
    const command = lines.find((line) => line.startsWith("CMD "))!;
    const [program, ...flags] = JSON.parse(command.slice("CMD ".length)) as string[];
    const [, threshold] = new RegExp(`${MALLOC}=(\\d+)`).exec(lines.join("\n")) ?? [];

    expect(lines.findLast((line) => line.startsWith("USER "))).toBe("USER node");
    expect([program, flags.pop()]).toEqual(["node", "src/main.ts"]);
    expect(flags).toHaveLength(2);
    expect(launcher).toContain(`[${flags.map((flag) => `"${flag}", `).join("")}pathOf("main.ts")]`);
    expect(launcher).toContain(`${MALLOC}: "${threshold}"`);
  });
});

/** Returns a text of docker-compose.yml as a container receives it. */
const unescaped = (text: string): string => text.replaceAll("$$", "$");

/** Runs the service `secrets` on `folder` with a no-op `chown`, and returns the folder. */
async function createSecrets(services: Record<string, Service>, folder?: string): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), "waymark-secrets-"));
  onTestFinished(() => rm(parent, { recursive: true, force: true }));
  await writeFile(join(parent, "chown"), "#!/bin/sh\n", { mode: 0o755 });
  const secretsFolder = folder ?? join(parent, "secrets");
  await mkdir(secretsFolder, { recursive: true });
  const [program = "", ...args] = services["secrets"]!.command!.map(unescaped);
  await run(program, args, { env: { PATH: `${parent}:${process.env["PATH"]}`, SECRETS: secretsFolder } });
  return secretsFolder;
}

/** Returns the environment that the entrypoint gives a Waymark process, with the secrets in `folder`. */
async function startedWith(
  services: Record<string, Service>,
  folder: string,
  env: Record<string, string> = { WAYMARK_SECRET: "" },
): Promise<Record<string, string>> {
  const [program = "", ...args] = services["api"]!.entrypoint!.map(unescaped);
  const print = `const { DATABASE_URL, MONGODB_URL, WAYMARK_SECRET } = process.env;
    console.log(JSON.stringify({ DATABASE_URL, MONGODB_URL, WAYMARK_SECRET }))`;
  const entry = args.map((arg) => arg.replace("/secrets/", `${folder}/`));
  const { stdout } = await run(program, [...entry, process.execPath, "-e", print], { env });
  return JSON.parse(stdout) as Record<string, string>;
}

describe("docker-compose.yml", () => {
  let text: string;
  let services: Record<string, Service>;
  let ours: Service[];

  beforeAll(async () => {
    text = await read("docker-compose.yml");
    ({ services } = parse(text, { merge: true }));
    ours = Object.values(services).filter(({ build }) => build !== undefined);
  });

  it("runs existing files after the services that it defines", () => {
    const files = ours.map(({ command }) => command!.find((part) => part.endsWith(".ts"))!);
    const awaited = ours.flatMap(({ depends_on }) => Object.keys(depends_on ?? {}));

    expect(files).toEqual(["src/main.ts", "src/main.ts", "src/cli/main.ts"]);
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
    expect(awaited).toEqual(["migrate", "migrate", "postgres"]);
    expect(awaited.filter((name) => !(name in services))).toEqual([]);
  });

  it("restarts every service except migration and secrets, which run once", () => {
    const policies = Object.entries(services).map(([name, { restart }]) => [name, restart]);

    expect(Object.fromEntries(policies)).toEqual({
      api: "unless-stopped",
      worker: "unless-stopped",
      migrate: "no",
      secrets: "no",
      postgres: "unless-stopped",
      mongodb: "unless-stopped",
      mailpit: "unless-stopped",
    });
  });

  it("runs API and worker as separate services on the databases that it defines", async () => {
    expect(services["api"]?.environment?.["WAYMARK_ROLE"]).toBe("api");
    expect(services["worker"]?.environment?.["WAYMARK_ROLE"]).toBe("worker");
    const env = await startedWith(services, await createSecrets(services));
    expect(services).toHaveProperty(new URL(env["DATABASE_URL"]!).hostname);
    expect(services).toHaveProperty(new URL(env["MONGODB_URL"]!).hostname);
  });

  it("generates the secrets once, readable only by the services that need them", async () => {
    const folder = await createSecrets(services);
    const names = ["mongo-keyfile", "mongo-password", "postgres-password", "waymark.env"];
    expect((await readdir(folder)).toSorted()).toEqual(names);
    const contents = () => Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
    const first = await contents();
    expect(new Set(first.map(({ length }) => length > 40)).size).toBe(1);
    for (const name of names) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o400);
    await createSecrets(services, folder);
    expect(await contents()).toEqual(first);
  });

  it("starts every process with the generated or the configured passwords and WAYMARK_SECRET", async () => {
    const folder = await createSecrets(services);
    const env = await startedWith(services, folder);
    const password = (name: string) => readFile(join(folder, `${name}-password`), "utf8");
    expect(new URL(env["DATABASE_URL"]!).password).toBe(await password("postgres"));
    expect(new URL(env["MONGODB_URL"]!).password).toBe(await password("mongo"));
    expect(parseSecret(env["WAYMARK_SECRET"]!)).not.toBeNull();
    expect(await startedWith(services, folder)).toEqual(env);
    const given = await startedWith(services, folder, { WAYMARK_SECRET: TEST_SECRET });
    expect(given).toEqual({ ...env, WAYMARK_SECRET: TEST_SECRET });
    const urls = { DATABASE_URL: "postgresql://db/a", MONGODB_URL: "mongodb://db/b?replicaSet=rs0&tls=true" };
    expect(await startedWith(services, folder, urls)).toEqual({ ...env, ...urls });
    const empty = { DATABASE_URL: "", MONGODB_URL: "", WAYMARK_SECRET: "" };
    expect(await startedWith(services, folder, empty)).toEqual(env);
    for (const { volumes, entrypoint, environment } of ours) {
      const passed = Object.keys(empty).map((name) => [name, environment![name]]);
      expect(passed).toEqual(Object.keys(empty).map((name) => [name, `\${${name}:-}`]));
      expect(volumes).toContain("secrets:/secrets:ro");
      expect(entrypoint).toEqual(services["api"]!.entrypoint);
    }
  });

  it("requires the generated passwords from clients of PostgreSQL and MongoDB", async () => {
    const { postgres, mongodb } = services;
    expect(postgres!.environment!["POSTGRES_PASSWORD_FILE"]).toBe("/secrets/postgres-password");
    expect(mongodb!.environment!["MONGO_INITDB_ROOT_PASSWORD_FILE"]).toBe("/secrets/mongo-password");
    expect(mongodb!.command).toContain("--keyFile=/secrets/mongo-keyfile");
    expect(mongodb!.healthcheck!.test!.at(-1)).toContain("$$(cat /secrets/mongo-password)");
    // MongoDB requires 6 to 1,024 base64 characters.
    const keyFile = await readFile(join(await createSecrets(services), "mongo-keyfile"), "utf8");
    expect(keyFile).toMatch(/^[A-Za-z0-9+/=\n]{100,1024}$/);
  });

  it("runs every container read-only and unprivileged, and limits its log; that of secrets is root to own files", () => {
    // Other images run as an unprivileged user themselves.
    const users: Readonly<Record<string, string>> = {
      secrets: "root",
      postgres: "postgres",
      mongodb: "mongodb",
      mailpit: "65534:65534",
    };
    for (const [name, service] of Object.entries(services)) {
      const { user, read_only, cap_drop, cap_add, security_opt, logging } = service;
      expect({ name, user, read_only, cap_drop, cap_add, security_opt, logging }).toEqual({
        name,
        user: users[name],
        read_only: true,
        cap_drop: ["ALL"],
        cap_add: name === "secrets" ? ["CHOWN"] : undefined,
        security_opt: ["no-new-privileges:true"],
        logging: { driver: "local", options: { "max-size": "50m", "max-file": "10" } },
      });
    }
    for (const service of ours) expect(service).toMatchObject({ mem_limit: "1g", pids_limit: 256 });
  });

  it("asks PostgreSQL over TCP, where it answers only after the database is created", () => {
    expect(services["postgres"]!.healthcheck!.test).toContain("--host=127.0.0.1");
  });

  it("pins the exact version of every image", async () => {
    const images = Object.values(services).filter(({ build }) => build === undefined);
    for (const { image } of images) expect(image).toMatch(/:v?\d+\.\d+(\.\d+)?(-slim)?$/);
    expect(images.map(({ image }) => image)).toContain(`node:${(await read(".node-version")).trim()}-slim`);
  });

  it("serves /metrics on an unpublished port", () => {
    for (const { environment, ports = [] } of ours) {
      expect(environment!["METRICS_PORT"]).toBe("9464");
      expect(ports.join()).not.toContain("9464");
    }
  });

  it("configures MongoDB as the replica set in MONGODB_URL, with its service name as host", async () => {
    const { command, healthcheck } = services["mongodb"]!;
    const env = await startedWith(services, await createSecrets(services));
    const { searchParams, host } = new URL(env["MONGODB_URL"]!);
    const replicaSet = searchParams.get("replicaSet");

    expect(replicaSet).not.toBeNull();
    expect(command).toContain(`--replSet=${replicaSet}`);
    expect(healthcheck?.test?.at(-1)).toContain(`rs.initiate({ _id: "${replicaSet}"`);
    expect(healthcheck?.test?.at(-1)).toContain(`host: "${host}"`);
  });

  it("publishes only the API and the Mailpit page, on 127.0.0.1", () => {
    const published = Object.entries(services).flatMap(([name, { ports = [] }]) =>
      ports.map((port) => `${name} ${port}`),
    );

    expect(published).toEqual(["api 127.0.0.1:4000:4000", "mailpit 127.0.0.1:8025:8025"]);
  });

  it("sends mail to its Mailpit service unless SMTP_URL is set", () => {
    for (const { environment } of ours) {
      const [, url = ""] = /^\$\{SMTP_URL:-(.+)\}$/.exec(environment!["SMTP_URL"]!) ?? [];
      expect(services).toHaveProperty(parseSmtpUrl(url)!.host);
      expect(environment!["MAIL_FROM"]).toContain("MAIL_FROM:-");
    }
  });

  // evidence: compose-settings-explained
  it("and the Dockerfile use only settings that .env.example explains, set or commented out", async () => {
    const lines = (await read(".env.example")).matchAll(/^#?\s*([A-Z][A-Z0-9_]*)=/gm);
    const explained = new Set([...lines].map(([, name]) => name!));
    const environment = instructions(await read("Dockerfile")).filter((line) => line.startsWith("ENV "));
    const ofImage = environment.flatMap((line) => [...line.matchAll(/(\w+)=/g)].map(([, name]) => name!));
    const set = ours.flatMap((service) => Object.keys(service.environment ?? {}));
    const asked = [...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => name!);

    expect([...ofImage, ...set]).toEqual(expect.arrayContaining(["HOST", "METRICS_PORT"]));
    expect([...ofImage, ...set, ...asked].filter((name) => !explained.has(name))).toEqual([MALLOC]);
  });
});
