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
  urls: UrlForm;
}

/** How pages link those that the build generates, which the repository does not have. */
const GUIDE_URL = `${SAMPLE_BASE_URL}/guide/`;

/** How a form of the guide links pages and assets. */
export interface UrlForm {
  /** Returns the URL of the page `linked` in the page `from`. */
  page: (linked: Page, from: Page) => string;
  /** Returns the URL of `path`, which is below `/guide/`, in the page `from`. */
  asset: (path: string, from: Page) => string;
  /** False if other pages are in the same file, so that `#id` alone is ambiguous. */
  hasOwnAnchors: boolean;
}

/** Returns the path of a page's Markdown below `/guide/`. */
export function markdownPathOf({ path }: Page): string {
  return `${path || "index"}.md`;
}

/** The HTML pages link each other. */
export const htmlUrls: UrlForm = {
  page: (linked, from) => relativeUrl(from.path, linked.path),
  asset: (path, from) => relativeUrl(from.path, path),
  hasOwnAnchors: true,
};

/** The Markdown of a page links the Markdown of others. */
export const markdownUrls: UrlForm = {
  ...htmlUrls,
  page: (linked, from) => relativeUrl(from.path, markdownPathOf(linked)),
};

/** `llms-full.txt` has all pages in one file. */
export const absoluteUrls: UrlForm = {
  page: (linked) => GUIDE_URL + markdownPathOf(linked),
  asset: (path) => GUIDE_URL + path,
  hasOwnAnchors: false,
};

export function createResolver({
  page,
  pages,
  links,
  docsDir,
  assetsPath,
  onImage,
  urls,
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
      const url = path === "" && urls.hasOwnAnchors ? "" : urls.page(linked, page);
      return url + (id && `#${id}`);
    },
    image(target) {
      const file = fileOf(target);
      if (!existsSync(join(docsDir, file))) return fail(target, "the file does not exist");
      onImage(file);
      return urls.asset(`${assetsPath}/${posix.basename(file)}`, page);
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
