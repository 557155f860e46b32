/** A disk so small that a test can fill it. */
import { execFile } from "node:child_process";
import { chown, mkdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Where file systems in memory may be mounted; elsewhere what needs a small disk cannot be tested. */
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
  /** Leaves not a byte on it. */
  fill(): Promise<void>;
  /** Gives back what `fill` has taken. */
  clear(): Promise<void>;
}

/** Mounts one at `folder`, for the user whom `like` belongs to. */
export async function mountSmallDisk(folder: string, megabytes: number, like = "/tmp"): Promise<SmallDisk> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await run("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=0700`, "tmpfs", folder]);
  const { uid, gid } = await stat(like);
  await chown(folder, uid, gid);
  const ballast = join(folder, "ballast");
  return {
    async fill() {
      // More than there is room for: what fits of it is written before the error comes.
      await writeFile(ballast, Buffer.alloc(megabytes * 1024 * 1024)).catch(() => undefined);
    },
    clear: () => rm(ballast, { force: true }),
    async [Symbol.asyncDispose]() {
      // Whoever still has a file open on it must not keep it.
      await run("umount", ["--lazy", folder]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
