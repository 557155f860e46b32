/** Reads what `npm run build` wrote, and sends its assets. */
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import type { RequestHandler } from "express";
import { AppError } from "../core/errors.ts";

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/** Compressed variants of each file written by the build, smallest first. */
const ENCODINGS = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;

export function builtFolder(part: "console" | "guide" | "sdk"): URL {
  return new URL(`../../.site/${part}/`, import.meta.url);
}

/** Null if the file does not exist. */
export async function readBuiltFile(file: URL): Promise<Buffer | null> {
  return await readFile(file).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  });
}

/** Sends the file that the route's parameter `name` names. Its URL changes with its content, so browsers may keep it for ever. */
export function sendBuiltAsset(folder: URL): RequestHandler {
  return async (request, response) => {
    const name = String(request.params["name"]);
    const type = CONTENT_TYPES[extname(name)];
    // Accept only file names, so that nothing outside the folder can be read.
    const uncompressed =
      type === undefined || !/^[\w.-]+$/.test(name) ? null : await readBuiltFile(new URL(name, folder));
    if (type === undefined || uncompressed === null)
      throw new AppError("NotFoundException", "There is no such file");
    response.setHeader("Cache-Control", "public, max-age=31536000, immutable");
    response.setHeader("Vary", "Accept-Encoding");
    const [encoding, suffix] = ENCODINGS.find(([each]) => request.acceptsEncodings(each) === each) ?? [];
    const compressed = suffix === undefined ? null : await readBuiltFile(new URL(name + suffix, folder));
    if (compressed && encoding !== undefined) response.setHeader("Content-Encoding", encoding);
    response.type(type).send(compressed ?? uncompressed);
  };
}
