/** The clients and starter kits of this version: files that the build made, their checksums, and an index. */
import { Router, type RequestHandler } from "express";
import { AppError } from "../platform/errors.ts";
import { pathPrefix } from "../platform/public-url.ts";
import { SDK_INDEX_FILE, type SdkFile, type SdkIndex } from "../sdk/api.ts";
import { addRoute } from "./add-route.ts";
import { builtFolder, readBuiltFile } from "./built-files.ts";

const CHECKSUM_SUFFIX = ".sha256";

export interface SdkSettings {
  publicUrl: string | null;
  /** Returns the URL of a page of the service. */
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
      ...(index && { starter_kits: withUrl(index.starter_kits) }),
    });
  };

  const sendFile: RequestHandler = async (request, response) => {
    const name = String(request.params["name"]);
    const isChecksum = name.endsWith(CHECKSUM_SUFFIX);
    const requested = isChecksum ? name.slice(0, -CHECKSUM_SUFFIX.length) : name;
    // Only names in the index are read, so nothing outside the folder can be.
    const found = findFile(await readIndex(), requested);
    const content = found && (await readBuiltFile(new URL(found.file, folder)));
    if (!found || !content)
      throw new AppError("NotFoundException", `There is no such file. See ${pageUrl("/sdk/")}`);
    const { file, sha256 } = found;
    response.setHeader("Cache-Control", "no-cache");
    if (requested !== file) response.redirect(302, `${sdkPath}/${file}${isChecksum ? CHECKSUM_SUFFIX : ""}`);
    else if (isChecksum) response.type("text/plain").send(`${sha256}  ${file}\n`);
    else response.type(file.endsWith(".tgz") ? "application/gzip" : "application/zip").send(content);
  };

  const router = Router({ caseSensitive: true });
  addRoute(router, { path: "/sdk", name: "/sdk" }, { get: [sendIndex] });
  addRoute(router, { path: "/sdk/:name", name: "/sdk/{name}" }, { get: [sendFile] });
  return router;
}

/** Finds a file by its name or alias. */
function findFile(index: SdkIndex | null, name: string): SdkFile | undefined {
  const client = index?.clients.find(({ file, alias }) => [file, alias].includes(name));
  return client ?? (index?.starter_kits.file === name ? index.starter_kits : undefined);
}
