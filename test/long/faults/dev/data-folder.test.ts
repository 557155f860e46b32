import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { prepareDataFolder, readOrCreateKey } from "../../../../src/dev/data-folder.ts";
import { openEmbeddedPostgres } from "../../../../src/dev/postgres/embedded-postgres.ts";
import { stopAndRemoveAll, makeFolder, startHolder } from "../../../support/processes/embedded-processes.ts";

const unprivileged = { uid: 65_534, gid: 65_534 };
const isRoot = process.getuid?.() === 0;

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });
afterEach(stopAndRemoveAll);

describe("the data folder", () => {
  it("is created with its parents and mode 0700", async () => {
    const dataDir = join(await makeFolder(), "deep", "data");
    await prepareDataFolder(dataDir);
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
  });

  it("is refused with its path if it is not writable", async () => {
    const parent = await makeFolder();
    const dataDir = join(parent, "data");
    await chmod(parent, 0o755);
    await mkdir(dataDir, { mode: 0o555 });
    const holder = await startHolder(dataDir, "exclusive", isRoot ? unprivileged : {});
    expect(holder.line.error).toEqual({
      name: "StartupError",
      message: expect.stringContaining(`Waymark cannot use ${dataDir}: EACCES: permission denied`),
      hint: "Set WAYMARK_DATA_DIR to a folder that the user who runs Waymark can write to, on a disk with free space.",
    });
  });

  it("is refused if a parent folder is a file", async () => {
    const above = join(await makeFolder(), "file");
    await writeFile(above, "");
    const sentence = "ENOTDIR: not a directory";
    await expect(prepareDataFolder(join(above, "data"))).rejects.toThrow(sentence);
    await expect(prepareDataFolder(join(above, "deep", "data"))).rejects.toThrow(sentence);
  });

  it("is refused if the cluster's folder contains other files", async () => {
    const dataDir = await makeFolder();
    await mkdir(join(dataDir, "postgres"));
    await writeFile(join(dataDir, "postgres", "notes.txt"), "mine");
    await expect(openEmbeddedPostgres({ dataDir, exclusive: true })).rejects.toThrow(
      "ENOTEMPTY: directory not empty",
    );
    expect(await readFile(join(dataDir, "postgres", "notes.txt"), "utf8")).toBe("mine");
  });
});

describe("the secret", () => {
  // evidence: secret-file-owner-only
  it("is created once with mode 0600", async () => {
    const file = join(await makeFolder(), "secret");
    const secret = await readOrCreateKey(file);
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/u);
    expect(await readOrCreateKey(file)).toBe(secret);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it("is not replaced if it is damaged", async () => {
    const dataDir = await makeFolder();
    await writeFile(join(dataDir, "secret"), "short");
    await expect(readOrCreateKey(join(dataDir, "secret"))).rejects.toThrow("is damaged");
    expect(await readFile(join(dataDir, "secret"), "utf8")).toBe("short");
  });
});
