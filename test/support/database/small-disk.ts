/** Mounts a small disk that a test can fill up. */
import { execFile } from "node:child_process";
import { chown, mkdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** True on Linux as root, if tmpfs can be mounted. Tests that need a small disk are skipped elsewhere. */
export async function canMount(): Promise<boolean> {
  const folder = `/tmp/waymark-mount-${process.pid}`;
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  try {
    await using _ = await mountSmallDisk(folder, 1);
    return true;
  } catch {
    return false;
  }
}

export interface SmallDisk extends AsyncDisposable {
  /** Uses up all free space. */
  fill(): Promise<void>;
  /** Frees the space used by `fill`. */
  clear(): Promise<void>;
}

/** Mounts a tmpfs at `folder`, owned by the owner of `like`. */
export async function mountSmallDisk(folder: string, megabytes: number, like = "/tmp"): Promise<SmallDisk> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await run("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=0700`, "tmpfs", folder]);
  const { uid, gid } = await stat(like);
  await chown(folder, uid, gid);
  const ballast = join(folder, "ballast");
  return {
    async fill() {
      // Larger than the free space: the part that fits is written before the error.
      await writeFile(ballast, Buffer.alloc(megabytes * 1024 * 1024)).catch(() => undefined);
    },
    clear: () => rm(ballast, { force: true }),
    async [Symbol.asyncDispose]() {
      // Unmount even if a process has a file open.
      await run("umount", ["--lazy", folder]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
