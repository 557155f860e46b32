/** Installs the packages of bench/package.json, which `npm ci` in the project leaves out. */
import { spawn, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const LOCK_FILE = join(import.meta.dirname, "package-lock.json");
/** A copy of the lock file that was installed. `npm ci` deletes it with the rest of the folder. */
const INSTALLED_LOCK_FILE = join(import.meta.dirname, "node_modules", ".installed-lock.json");

/** Runs `npm ci` in `bench/`, unless its lock file is already installed. Rejects if npm fails. */
export async function installPeers(onProgress: (text: string) => void): Promise<void> {
  const lock = await readFile(LOCK_FILE, "utf8");
  if (lock === (await readFile(INSTALLED_LOCK_FILE, "utf8").catch(() => null))) return;
  onProgress("installing the products to compare with: npm ci in bench/ (about 350 MB)");
  const args = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
  // npm names its own script. Windows needs a shell to run npm.cmd.
  const npm = process.env["npm_execpath"];
  const options: SpawnOptions = { cwd: import.meta.dirname, stdio: ["ignore", "ignore", "inherit"] };
  const child =
    npm === undefined
      ? spawn("npm", args, { ...options, shell: process.platform === "win32" })
      : spawn(process.execPath, [npm, ...args], options);
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`npm ci in bench/ failed (${String(code)})`);
  await writeFile(INSTALLED_LOCK_FILE, lock);
}
