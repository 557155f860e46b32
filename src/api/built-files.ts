/** Reads what `npm run build` wrote, and sends its assets. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import express, { type RequestHandler, type Response } from "express";

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

/** For a URL that changes with its content, so that browsers may keep it for ever. */
export const IMMUTABLE = "public, max-age=31536000, immutable";

/** Sends the files of `assets/` in a folder. Their URLs change with their content. */
export function sendAssets(folder: URL): RequestHandler {
  return express.static(fileURLToPath(new URL("assets/", folder)), {
    index: false,
    redirect: false,
    // Responses are compressed, so their bytes have other positions.
    acceptRanges: false,
    setHeaders: (response) => response.setHeader("Cache-Control", IMMUTABLE),
  });
}

/** Sends the page in place of one that is not built. */
export function sendNotBuilt(response: Response, what: "console" | "guide"): void {
  response.status(503).type("html").send(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Waymark</title>
<h1>The ${what} is not built</h1>
<p>The API is running. To use the ${what}, run <code>npm run build</code> and reload this page.</p>
</html>
`);
}
