/** The clients at /sdk: index, packages, checksums, and their installation with npm. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import express from "express";
import supertest from "supertest";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { sdkRoutes } from "../../src/http/sdk.routes.ts";
import { tarball } from "../../src/sdk/tarball.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { expectToMatchContract } from "../support/app/openapi-contract.ts";
import { kitFolder } from "../support/clients/starter-kit.ts";
import { BUILD_TIMEOUT_MS, buildSite } from "../support/site.ts";

const run = promisify(execFile);
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

describe("200 GET /sdk", () => {
  it("lists each client with the product's version, and the checksum and size of each file", async () => {
    const { clients, starter_kits } = (await app.call("/sdk")).body as unknown as {
      clients: Record<string, string | number>[];
      starter_kits: Record<string, string | number>;
    };

    expect(clients).toContainEqual(
      expect.objectContaining({ name: "@waymark/client", version: manifest.version }),
    );
    for (const { url, sha256, size } of [...clients, starter_kits]) {
      const content = Buffer.from(await (await fetch(String(url))).arrayBuffer());
      expect([createHash("sha256").update(content).digest("hex"), content.length]).toEqual([sha256, size]);
    }
  });
});

describe("200 GET /sdk/{name}", () => {
  it.each(["waymark-client.tgz", "waymark-starter-kits.tgz", "waymark-client.tgz.sha256"])(
    "returns %s as documented",
    async (name) => {
      const { status, headers } = await fetch(`${app.url}/sdk/${name}`);
      expectToMatchContract("GET", `/sdk/${name}`, { status, headers, body: "" });
    },
  );

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
    for (const name of ["waymark-client.tgz", "waymark-client.tgz.sha256"])
      await writeFile(
        join(folder, name),
        Buffer.from(await (await fetch(`${app.url}/sdk/${name}`)).arrayBuffer()),
      );

    const { stdout } = await run("sha256sum", ["--check", "waymark-client.tgz.sha256"], { cwd: folder });

    expect(stdout).toBe("waymark-client.tgz: OK\n");
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
    await run("npm", ["install", ...flags, `${app.url}/sdk/waymark-client.tgz`], { cwd: folder });
    const { stdout } = await run(process.execPath, ["main.js"], { cwd: folder });
    const list = await run("npm", ["ls", "--all", "--parseable"], { cwd: folder });

    expect(stdout).toBe(`function ${manifest.version}\n`);
    expect(list.stdout.trim().split("\n")).toHaveLength(2);
  });
});

describe("302 GET /sdk/{name}", () => {
  it("redirects an alias, and the checksum of one, to the file with its version", async () => {
    const folder = join(await temporaryFolder(), "sdk");
    await mkdir(folder);
    await writeFile(join(folder, "client-1.0.whl"), "content");
    const client10 = { file: "client-1.0.whl", alias: "client.whl", sha256: "abc", size: 7 };
    await writeFile(
      join(folder, "index.json"),
      JSON.stringify({ clients: [client10], starter_kits: { file: "kits.tgz", sha256: "def", size: 7 } }),
    );
    const settings = { publicUrl: "https://api.example.com/waymark", pageUrl: (path: string) => path };
    const client = supertest(
      express()
        .use((_request, response, next) => {
          response.locals["context"] = {};
          next();
        })
        .use(sdkRoutes(settings, pathToFileURL(`${folder}/`))),
    );

    for (const suffix of ["", ".sha256"]) {
      const response = await client.get(`/sdk/client.whl${suffix}`);
      expect([response.status, response.headers["location"]]).toEqual([
        302,
        `/waymark/sdk/client-1.0.whl${suffix}`,
      ]);
    }
    expect((await client.get("/sdk/client-1.0.whl.sha256")).text).toBe("abc  client-1.0.whl\n");
  });
});

describe("404 GET /sdk/{name}", () => {
  it.each(["index.json", "..%2fguide%2findex.html", "waymark-client.tgz.sha256.sha256", ".sha256"])(
    "returns no file that is not in the list: %s",
    async (name) => {
      const response = await app.call(`/sdk/${name}`);
      expect([response.status, response.body.error?.code]).toEqual([404, "NotFoundException"]);
    },
  );
});

describe("the tarball", () => {
  it("is the same for the same files in any order, and readable by tar", async () => {
    const files: [string, Buffer][] = [
      ["a.js", Buffer.from("a".repeat(513))],
      ["b/c.js", Buffer.alloc(0)],
    ];
    const content = await tarball("package", new Map(files));
    const folder = await temporaryFolder();
    await writeFile(join(folder, "x.tgz"), content);
    const { stdout } = await run("tar", ["--extract", "--to-stdout", "--file", "x.tgz"], { cwd: folder });

    expect(await tarball("package", new Map(files.toReversed()))).toEqual(content);
    expect(stdout).toBe("a".repeat(513));
  });
});
