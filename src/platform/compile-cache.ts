/** What Node has stripped of types and compiled, kept between starts. */
import { enableCompileCache } from "node:module";
import { join } from "node:path";

/**
 * From now on Node keeps what it loads in `node_modules/.cache`, by its content, and finds it there the next time: a command
 * takes a third of the CPU to start (decision 0041). Where the folder cannot be written nothing is kept, and nobody is told.
 * Modules that are loaded already are too early for it: call this first, and import the program afterwards.
 */
export function enableNodeCompileCache(): void {
  enableCompileCache(join(import.meta.dirname, "..", "..", "node_modules", ".cache", "waymark"));
}
