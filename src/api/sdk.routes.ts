/** The clients of this and earlier versions, and the starter kits: files of the build, their checksums, and an index. */
import { extname } from "node:path";
import { Router, type RequestHandler } from "express";
import { AppError } from "../core/errors.ts";
import { pathPrefix } from "../core/public-url.ts";
import { SDK_INDEX_FILE, type SdkClient, type SdkFile, type SdkIndex } from "../sdk/api.ts";
import { addRoute } from "./add-route.ts";
import { builtFolder, readBuiltFile } from "./built-files.ts";

const CHECKSUM_SUFFIX = ".sha256";

export interface SdkSettings {
  publicUrl: string | null;
  pageUrl: (path: string) => string;
}

/** Returns the routes of the files built in `folder`. */
export function sdkRoutes({ publicUrl, pageUrl }: SdkSettings, folder: URL = builtFolder("sdk")): Router {
  const sdkPath = `${pathPrefix(publicUrl)}/sdk`;

  /** Read each time, because a new build may have replaced it. */
  const readIndex = async (): Promise<SdkIndex | null> => {
    const index = await readBuiltFile(new URL(SDK_INDEX_FILE, folder));
    return index && (JSON.parse(index.toString("utf8")) as SdkIndex);
  };
  const withUrl = <File extends SdkFile>(file: File) => ({ ...file, url: pageUrl(`/sdk/${file.file}`) });

  const sendIndex: RequestHandler = async (_request, response) => {
    const index = await readIndex();
    response.setHeader("Cache-Control", "no-cache");
    response.json({
      clients: (index?.clients ?? []).map(withUrl),
      older_clients: (index?.older_clients ?? []).map(withUrl),
      ...(index && { starter_kits: withUrl(index.starter_kits) }),
    });
  };

  const sendFile: RequestHandler = async (request, response) => {
    const name = String(request.params["name"]);
    const isChecksum = name.endsWith(CHECKSUM_SUFFIX);
    const requested = isChecksum ? name.slice(0, -CHECKSUM_SUFFIX.length) : name;
    // Only names in the index are read, so nothing outside the folder can be.
    const index = await readIndex();
    const found = findFile(index, requested);
    const content = found && (await readBuiltFile(new URL(found.file, folder)));
    if (!found || !content)
      throw new AppError(
        "NotFoundException",
        `There is no such file. ${similarFiles(index, requested)}See ${pageUrl("/sdk/")}`,
      );
    response.setHeader("Cache-Control", "no-cache");
    const { file, sha256 } = found;
    if (requested !== file) {
      response.redirect(302, `${sdkPath}/${file}${isChecksum ? CHECKSUM_SUFFIX : ""}`);
      return;
    }
    // npm never asks again for an immutable file, so only a release is one.
    if (found.released) response.setHeader("Cache-Control", "public, max-age=31536000, immutable");
    response.setHeader("ETag", `"${sha256}${isChecksum ? CHECKSUM_SUFFIX : ""}"`);
    if (isChecksum) response.type("text/plain").send(`${sha256}  ${file}\n`);
    else response.type(file.endsWith(".tgz") ? "application/gzip" : "application/zip").send(content);
  };

  const router = Router({ caseSensitive: true });
  addRoute(router, { path: "/sdk", name: "/sdk" }, { get: [sendIndex] });
  addRoute(router, { path: "/sdk/:name", name: "/sdk/{name}" }, { get: [sendFile] });
  return router;
}

function findFile(index: SdkIndex | null, name: string): SdkClient | SdkFile | undefined {
  return (
    index?.clients.find(({ alias }) => alias === name) ?? allFiles(index).find(({ file }) => file === name)
  );
}

function allFiles(index: SdkIndex | null): (SdkClient | SdkFile)[] {
  return index ? [...index.clients, ...index.older_clients, index.starter_kits] : [];
}

/** Returns a sentence that names the files of the same format, or an empty string. */
function similarFiles(index: SdkIndex | null, name: string): string {
  const files = allFiles(index).filter(({ file }) => extname(file) === extname(name));
  return files.length === 0 ? "" : `This service has ${files.map(({ file }) => file).join(", ")}. `;
}
