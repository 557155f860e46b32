/** Resolves the links and images of a page. A broken one fails the build. */
import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import { renderApiLinks, type ApiLink } from "./api-links.ts";
import { relativeUrl } from "./layout.ts";
import type { TargetResolver } from "./markdown.ts";
import type { Page } from "./pages.ts";
import { SAMPLE_BASE_URL } from "./placeholders.ts";

interface TargetInput {
  page: Page;
  pages: readonly Page[];
  /** Links to the references, in all pages. */
  links: readonly ApiLink[];
  docsDir: string;
  /** Folder of the assets, relative to `/guide/`. */
  assetsPath: string;
  /** Called with the path of each image, relative to `docs/`. */
  onImage: (file: string) => void;
}

/** How pages link those that the build generates, which the repository does not have. */
const GUIDE_URL = `${SAMPLE_BASE_URL}/guide/`;

export function createResolver({
  page,
  pages,
  links,
  docsDir,
  assetsPath,
  onImage,
}: TargetInput): TargetResolver {
  const fail = (target: string, reason: string): never => {
    throw new Error(`docs/${page.file}: the link to ${target} is broken: ${reason}`);
  };
  const fileOf = (target: string): string => posix.join(posix.dirname(page.file), target);
  const checkHeading = (target: string, linked: Page, id: string): void => {
    if (id !== "" && !linked.sections.some((section) => section.id === id))
      fail(target, `docs/${linked.file} has no heading #${id}`);
  };
  const resolver: TargetResolver = {
    link(target) {
      if (target.startsWith(GUIDE_URL)) {
        const [path = "", id = ""] = target.slice(GUIDE_URL.length).split("#");
        const linked = pages.find((each) => each.path === path) ?? fail(target, "the guide has no such page");
        checkHeading(target, linked, id);
      }
      if (/^(https?:|mailto:)/.test(target)) return target;
      const [path = "", id = ""] = target.split("#");
      const linked = path === "" ? page : pages.find(({ file }) => file === fileOf(path));
      if (!linked) return fail(target, "the guide has no such page");
      checkHeading(target, linked, id);
      const url = path === "" ? "" : relativeUrl(page.path, linked.path);
      return url + (id && `#${id}`);
    },
    image(target) {
      const file = fileOf(target);
      if (!existsSync(join(docsDir, file))) return fail(target, "the file does not exist");
      onImage(file);
      return relativeUrl(page.path, `${assetsPath}/${posix.basename(file)}`);
    },
    server: (path) => relativeUrl(page.path, `../${path}`),
    references(heading) {
      const explained = links.filter(
        ({ section }) => section.file === page.file && section.heading === heading,
      );
      return renderApiLinks(explained, page.file, resolver);
    },
  };
  return resolver;
}
