/** Resolves the links and images of a page. A broken one fails the build. */
import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import { relativeUrl } from "./layout.ts";
import type { TargetResolver } from "./markdown.ts";
import type { Page } from "./pages.ts";

interface TargetInput {
  page: Page;
  pages: readonly Page[];
  docsDir: string;
  /** Folder of the assets, relative to `/guide/`. */
  assetsPath: string;
  /** Called with the path of each image, relative to `docs/`. */
  onImage: (file: string) => void;
}

export function createResolver({ page, pages, docsDir, assetsPath, onImage }: TargetInput): TargetResolver {
  const fail = (target: string, reason: string): never => {
    throw new Error(`docs/${page.file}: the link to ${target} is broken: ${reason}`);
  };
  const fileOf = (target: string): string => posix.join(posix.dirname(page.file), target);
  return {
    link(target) {
      if (/^(https?:|mailto:)/.test(target)) return target;
      const [path = "", id = ""] = target.split("#");
      const linked = path === "" ? page : pages.find(({ file }) => file === fileOf(path));
      if (!linked) return fail(target, "the guide has no such page");
      if (id !== "" && !linked.sections.some((section) => section.id === id))
        return fail(target, `docs/${linked.file} has no heading #${id}`);
      const url = path === "" ? "" : relativeUrl(page.path, linked.path);
      return url + (id && `#${id}`);
    },
    image(target) {
      const file = fileOf(target);
      if (!existsSync(join(docsDir, file))) return fail(target, "the file does not exist");
      onImage(file);
      return relativeUrl(page.path, `${assetsPath}/${posix.basename(file)}`);
    },
  };
}
