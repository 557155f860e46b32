/** Writes tarballs. The same files always give the same bytes, on every machine. */
import { buffer } from "node:stream/consumers";
import { gzipSync } from "fflate";
import { pack } from "tar-stream";

/** npm's own date for packed files. */
const mtime = new Date("1985-10-26T08:15:00Z");

/** Returns a `.tgz` with `files` below `folder`, sorted by path. The keys of `files` are paths. */
export async function tarball(folder: string, files: ReadonlyMap<string, Uint8Array>): Promise<Buffer> {
  const archive = pack();
  for (const [path, content] of [...files].toSorted(([left], [right]) => (left < right ? -1 : 1)))
    archive.entry({ name: `${folder}/${path}`, mtime }, content);
  archive.finalize();
  // Not node:zlib: its output depends on the processor and the system.
  return Buffer.from(gzipSync(await buffer(archive), { level: 9, mtime: 0 }));
}
