/** The clients of this and earlier versions, and the starter kits: files of the build, their checksums, and an index. */
import { Router, type RequestHandler } from "express";
import { AppError } from "../core/errors.ts";
import { pathPrefix } from "../core/public-url.ts";
import { SDK_INDEX_FILE, type SdkClient, type SdkFile, type SdkIndex } from "../sdk/api.ts";
import { addRoute } from "./add-route.ts";
import { builtFolder, IMMUTABLE, readBuiltFile } from "./built-files.ts";

const CHECKSUM_SUFFIX = ".sha256";

export interface SdkSettings {
  publicUrl: string | null;
  pageUrl: (path: string) => string;
}

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
    const suffix = name.endsWith(CHECKSUM_SUFFIX) ? CHECKSUM_SUFFIX : "";
    const requested = name.slice(0, name.length - suffix.length);
    const index = await readIndex();
    const files: (SdkClient | SdkFile)[] = index
      ? [...index.clients, ...index.older_clients, index.starter_kits]
      : [];
    // Only names in the index are read, so nothing outside the folder can be.
    const found = files.find(
      (each) => each.file === requested || ("alias" in each && each.alias === requested),
    );
    const content = found && (await readBuiltFile(new URL(found.file, folder)));
    if (!found || !content)
      throw new AppError("NotFoundException", `There is no such file. See ${pageUrl("/sdk/")}`);
    response.setHeader("Cache-Control", "no-cache");
    const { file, sha256 } = found;
    if (requested !== file) {
      response.redirect(302, `${sdkPath}/${file}${suffix}`);
      return;
    }
    // npm never asks again for an immutable file, so only a release is one.
    if (found.released) response.setHeader("Cache-Control", IMMUTABLE);
    response.setHeader("ETag", `"${sha256}${suffix}"`);
    if (suffix !== "") response.type("text/plain").send(`${sha256}  ${file}\n`);
    else response.type(file.endsWith(".tgz") ? "application/gzip" : "application/zip").send(content);
  };

  const router = Router({ caseSensitive: true });
  addRoute(router, "/sdk", { get: [sendIndex] });
  addRoute(router, "/sdk/:name", { get: [sendFile] });
  return router;
}
