/** The clients at /sdk: index, packages of this and earlier versions, checksums, and their installation with npm. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import express from "express";
import supertest from "supertest";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { sdkRoutes } from "../../src/api/sdk.routes.ts";
import { packageFiles } from "../../src/sdk/api.ts";
import { buildSdk } from "../../src/sdk/build.ts";
import { CHECKSUMS_FILE, keepReleasedClients } from "../../src/sdk/released.ts";
import { tarball } from "../../src/sdk/tarball.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { kitFolder } from "../support/clients/starter-kit.ts";
import { BUILD_TIMEOUT_MS, buildSite } from "../support/site.ts";

const run = promisify(execFile);
const FILE = packageFiles(manifest.version).typescript;
const IMMUTABLE = "public, max-age=31536000, immutable";
let app: SharedApp;

beforeAll(async () => {
  await buildSite();
  app = await sharedApp("api");
}, BUILD_TIMEOUT_MS);

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "waymark-sdk-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A service of a release, after the releases before it. */
async function serviceWith(...versions: string[]): Promise<express.Express> {
  return await serviceRunning(versions.at(-1) ?? "", versions);
}

async function serviceRunning(running: string, versions: readonly string[]): Promise<express.Express> {
  const [releasedDir, folder] = [await temporaryFolder(), await temporaryFolder()];
  await writeFile(join(releasedDir, CHECKSUMS_FILE), "");
  for (const version of versions) {
    const content = JSON.stringify({ name: "@waymark/client", version });
    const typescript = await tarball("package", new Map([["package.json", Buffer.from(content)]]));
    await keepReleasedClients(version, { typescript, python: Buffer.from(version) }, releasedDir);
  }
  await buildSdk(folder, { version: running, releasedDir });
  const settings = { publicUrl: "https://api.example.com/waymark", pageUrl: (path: string) => path };
  return express()
    .disable("etag")
    .use((_request, response, next) => {
      response.locals["context"] = {};
      next();
    })
    .use(sdkRoutes(settings, pathToFileURL(`${folder}/`)));
}

async function getFile(service: express.Express, file: string) {
  const { status, headers, body } = await supertest(service).get(`/sdk/${file}`).responseType("blob");
  return { status, headers, content: body as Buffer };
}

describe("200 GET /sdk", () => {
  it("lists each client with the product's version, and the checksum and size of each file", async () => {
    const { clients, starter_kits } = (await app.call("/sdk")).body as unknown as {
      clients: Record<string, string | number>[];
      starter_kits: Record<string, string | number>;
    };

    expect(clients).toContainEqual(
      expect.objectContaining({ name: "@waymark/client", version: manifest.version, file: FILE }),
    );
    for (const { url, sha256, size } of [...clients, starter_kits]) {
      const content = Buffer.from(await (await fetch(String(url))).arrayBuffer());
      expect([createHash("sha256").update(content).digest("hex"), content.length]).toEqual([sha256, size]);
    }
  });

  it("lists earlier releases, newest first, without a name that redirects", async () => {
    const { body } = await supertest(await serviceWith("1.9.0", "1.10.0", "1.11.0")).get("/sdk");
    const { clients, older_clients } = body as Record<string, { file: string; alias?: string }[]>;
    const filesOf = (list: typeof clients) => list?.map(({ file, alias }) => [file, alias]);
    expect(filesOf(clients)).toEqual([
      ["waymark-client-1.11.0.tgz", "waymark-client.tgz"],
      ["waymark_client-1.11.0-py3-none-any.whl", "waymark_client.whl"],
    ]);
    expect(filesOf(older_clients)).toEqual([
      ["waymark-client-1.10.0.tgz", undefined],
      ["waymark_client-1.10.0-py3-none-any.whl", undefined],
      ["waymark-client-1.9.0.tgz", undefined],
      ["waymark_client-1.9.0-py3-none-any.whl", undefined],
    ]);
  });
});

describe("200 GET /sdk/{name}", () => {
  it.each([
    [FILE, "application/gzip"],
    ["waymark-starter-kits.tgz", "application/gzip"],
    [`${FILE}.sha256`, "text/plain; charset=utf-8"],
  ])("returns %s with its content type and an ETag", async (name, type) => {
    const { status, headers } = await fetch(`${app.url}/sdk/${name}`);
    expect([status, headers.get("content-type")]).toEqual([200, type]);
    expect(headers.get("etag")).toMatch(/^"[0-9a-f]{64}(\.sha256)?"$/);
  });

  it("returns the sources of every starter kit, and nothing that a kit wrote when it ran", async () => {
    const folder = await temporaryFolder();
    const response = await fetch(`${app.url}/sdk/waymark-starter-kits.tgz`);
    await writeFile(join(folder, "kits.tgz"), Buffer.from(await response.arrayBuffer()));

    const packed = await run("tar", ["-tzf", join(folder, "kits.tgz")]);
    const options = ["ls-files", "--cached", "--others", "--exclude-standard", "*/*"];
    const sources = await run("git", options, { cwd: kitFolder("") });

    const expected = sources.stdout.trim().split("\n");
    expect(packed.stdout.trim().split("\n").toSorted()).toEqual(
      expected.map((path) => `waymark-starter-kits/${path}`).toSorted(),
    );
  });

  it("returns the checksum in the format of sha256sum", async () => {
    const folder = await temporaryFolder();
    for (const name of [FILE, `${FILE}.sha256`])
      await writeFile(
        join(folder, name),
        Buffer.from(await (await fetch(`${app.url}/sdk/${name}`)).arrayBuffer()),
      );

    const { stdout } = await run("sha256sum", ["--check", `${FILE}.sha256`], { cwd: folder });

    expect(stdout).toBe(`${FILE}: OK\n`);
  });

  it("is a package that npm installs without any other package", async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, "package.json"), '{"private": true, "type": "module"}');
    await writeFile(
      join(folder, "main.js"),
      'import { VERSION, Waymark } from "@waymark/client"; console.log(typeof Waymark, VERSION);',
    );

    // Any other request of npm's fails, because the registry does not exist.
    const flags = [
      "--registry=http://127.0.0.1:9",
      "--no-audit",
      "--no-fund",
      `--cache=${join(folder, "cache")}`,
    ];
    await run("npm", ["install", ...flags, `${app.url}/sdk/${FILE}`], { cwd: folder });
    const { stdout } = await run(process.execPath, ["main.js"], { cwd: folder });
    const list = await run("npm", ["ls", "--all", "--parseable"], { cwd: folder });

    expect(stdout).toBe(`function ${manifest.version}\n`);
    expect(list.stdout.trim().split("\n")).toHaveLength(2);
  });

  it.each([
    ["waymark-client-1.0.0.tgz", "application/gzip"],
    ["waymark_client-1.0.0-py3-none-any.whl", "application/zip"],
  ])("returns the same bytes after an upgrade, which may be cached for ever: %s", async (file, type) => {
    const before = await getFile(await serviceWith("1.0.0"), file);
    const after = await getFile(await serviceWith("1.0.0", "1.1.0"), file);

    expect(after.content).toEqual(before.content);
    for (const { status, headers } of [before, after]) {
      expect([status, headers["cache-control"], headers["content-type"]]).toEqual([200, IMMUTABLE, type]);
      expect(headers["etag"]).toBe(`"${createHash("sha256").update(before.content).digest("hex")}"`);
    }
  });

  it.each(["waymark-client-1.1.0-rc.tgz", "waymark-starter-kits.tgz"])(
    "makes a cache ask again for a file that is not released, because it can change: %s",
    async (file) => {
      const service = await serviceRunning("1.1.0-rc", ["1.0.0"]);
      expect((await getFile(service, file)).headers["cache-control"]).toBe("no-cache");
      const released = await getFile(service, "waymark-client-1.0.0.tgz");
      expect(released.headers["cache-control"]).toBe(IMMUTABLE);
    },
  );
});

it.each([FILE, `${FILE}.sha256`])("304 for a request that has the file: %s", async (name) => {
  const client = supertest(app.url);
  const { etag = "" } = (await client.get(`/sdk/${name}`)).headers as { etag?: string };
  const response = await client.get(`/sdk/${name}`).set("If-None-Match", etag);
  expect([response.status, response.text]).toEqual([304, ""]);
});

it.each([
  ["waymark-client.tgz", "waymark-client-1.1.0.tgz"],
  ["waymark_client.whl.sha256", "waymark_client-1.1.0-py3-none-any.whl.sha256"],
])(
  "302 redirects a name without version, and its checksum, to the current version: %s",
  async (name, file) => {
    const { status, headers } = await getFile(await serviceWith("1.0.0", "1.1.0"), name);
    expect([status, headers["location"], headers["cache-control"]]).toEqual([
      302,
      `/waymark/sdk/${file}`,
      "no-cache",
    ]);
  },
);

it.each(["index.json", "..%2fguide%2findex.html", `${FILE}.sha256.sha256`, ".sha256"])(
  "404 for a file that is not in the list: %s",
  async (name) => {
    const response = await app.call(`/sdk/${name}`);
    expect([response.status, response.body.error?.code]).toEqual([404, "NotFoundException"]);
  },
);
