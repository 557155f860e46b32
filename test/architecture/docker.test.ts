import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { parseSmtpUrl } from "../../src/platform/smtp-url.ts";

interface Service {
  build?: string;
  command?: string[];
  restart?: string;
  ports?: string[];
  healthcheck?: { test?: string[] };
  environment?: Record<string, string>;
  depends_on?: Record<string, unknown>;
}

const root = join(import.meta.dirname, "..", "..");
const read = (path: string) => readFile(join(root, path), "utf8");

/** The instructions of a Dockerfile: comments left out, continued lines joined. */
function instructions(text: string): string[] {
  const code = text.split("\n").filter((line) => !line.startsWith("#"));
  return code.join("\n").replaceAll("\\\n", " ").split("\n").filter(Boolean);
}

/** The names that `.env.example` explains, set or commented out. */
async function explainedSettings(): Promise<Set<string>> {
  const lines = (await read(".env.example")).matchAll(/^#?\s*([A-Z][A-Z0-9_]*)=/gm);
  return new Set([...lines].map(([, name]) => name!));
}

/** The C library's, and no setting of ours (decision 0042). */
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
    // What is let through is so with everything below it.
    expect(sources.filter((source) => !allowed.has(`!${source.split("/")[0]}`))).toEqual([]);
  });

  it("runs the Node that package.json and .node-version name", async () => {
    const { dependencies } = JSON.parse(await read("package.json"));
    const images = lines.flatMap((line) => /^FROM node:([\d.]+)/.exec(line)?.[1] ?? []);

    expect(new Set(images)).toEqual(new Set([dependencies.node]));
    expect((await read(".node-version")).trim()).toBe(dependencies.node);
  });

  it("starts a file that exists, as a user that is not root", () => {
    const command = lines.find((line) => line.startsWith("CMD "));
    const parts: string[] = JSON.parse(command!.slice("CMD ".length));
    const [program, file] = [parts[0], parts.at(-1)!];

    expect(program).toBe("node");
    expect(existsSync(join(root, file))).toBe(true);
    expect(lines.findLast((line) => line.startsWith("USER "))).toBe("USER node");
  });

  it("sets nothing that .env.example does not explain", async () => {
    const environment = lines.filter((line) => line.startsWith("ENV "));
    const names = environment.flatMap((line) => [...line.matchAll(/(\w+)=/g)].map(([, name]) => name!));
    const explained = await explainedSettings();

    expect(names).toContain("HOST");
    expect(names.filter((name) => !explained.has(name))).toEqual([MALLOC]);
  });

  it("starts Node as npm start does, with the same memory", async () => {
    const { scripts } = JSON.parse(await read("package.json")) as { scripts: { start: string } };
    const command = lines.find((line) => line.startsWith("CMD "));
    const [setting = ""] = new RegExp(`${MALLOC}=\\d+`).exec(lines.join("\n")) ?? [];

    const parts: string[] = JSON.parse(command!.slice("CMD ".length));
    expect(scripts.start.split(" && ").at(-1)).toBe(`${setting} exec ${parts.join(" ")}`);
  });
});

describe("docker-compose.yml", () => {
  let text: string;
  let services: Record<string, Service>;
  let ours: Service[];

  beforeAll(async () => {
    text = await read("docker-compose.yml");
    ({ services } = parse(text, { merge: true }));
    ours = Object.values(services).filter(({ build }) => build !== undefined);
  });

  it("runs files that exist", () => {
    const files = ours.map(({ command }) => command!.find((part) => part.endsWith(".ts"))!);

    expect(files).toEqual(["src/main.ts", "src/main.ts", "src/cli/main.ts"]);
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  it("makes each service wait for services that it defines", () => {
    const awaited = ours.flatMap(({ depends_on }) => Object.keys(depends_on ?? {}));

    expect(awaited).toEqual(["migrate", "migrate", "postgres"]);
    expect(awaited.filter((name) => !(name in services))).toEqual([]);
  });

  it("starts again whatever has ended, the databases as well, but for the migration, which runs once", () => {
    const policies = Object.entries(services).map(([name, { restart }]) => [name, restart]);

    expect(Object.fromEntries(policies)).toEqual({
      api: "unless-stopped",
      worker: "unless-stopped",
      migrate: "no",
      postgres: "unless-stopped",
      mongodb: "unless-stopped",
      mailpit: "unless-stopped",
    });
  });

  it("runs API and worker apart, both on the databases that it defines", () => {
    expect(services["api"]?.environment?.["WAYMARK_ROLE"]).toBe("api");
    expect(services["worker"]?.environment?.["WAYMARK_ROLE"]).toBe("worker");
    for (const { environment } of ours) {
      expect(services).toHaveProperty(new URL(environment!["DATABASE_URL"]!).hostname);
      expect(services).toHaveProperty(new URL(environment!["MONGODB_URL"]!).hostname);
    }
  });

  it("asks for the secret that must be kept, and says how to make one", () => {
    for (const { environment } of ours)
      expect(environment!["WAYMARK_SECRET"]).toMatch(/^\$\{WAYMARK_SECRET:\?.*openssl rand -base64 32\}$/);
  });

  it("makes MongoDB the replica set that MONGODB_URL names, under the name that the others know", () => {
    const { command, healthcheck } = services["mongodb"]!;
    const { searchParams, host } = new URL(services["api"]!.environment!["MONGODB_URL"]!);
    const replicaSet = searchParams.get("replicaSet");

    expect(replicaSet).not.toBeNull();
    expect(command).toContain(`--replSet=${replicaSet}`);
    expect(healthcheck?.test?.at(-1)).toContain(`rs.initiate({ _id: "${replicaSet}"`);
    expect(healthcheck?.test?.at(-1)).toContain(`host: "${host}"`);
  });

  it("publishes the API alone, and to this machine the page of the mails that were caught", () => {
    const published = Object.entries(services).flatMap(([name, { ports = [] }]) =>
      ports.map((port) => `${name} ${port}`),
    );

    expect(published).toEqual(["api 4000:4000", "mailpit 127.0.0.1:8025:8025"]);
  });

  it("has mails caught by a service that it defines, unless another mail server is named", () => {
    for (const { environment } of ours) {
      const [, url = ""] = /^\$\{SMTP_URL:-(.+)\}$/.exec(environment!["SMTP_URL"]!) ?? [];
      expect(services).toHaveProperty(parseSmtpUrl(url)!.host);
      expect(environment!["MAIL_FROM"]).toContain("MAIL_FROM:-");
    }
  });

  it("sets and asks for nothing that .env.example does not explain", async () => {
    const set = ours.flatMap(({ environment }) => Object.keys(environment ?? {}));
    const asked = [...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => name!);
    const explained = await explainedSettings();

    expect(set).toContain("DATABASE_URL");
    expect([...set, ...asked].filter((name) => !explained.has(name))).toEqual([]);
  });
});
