/** What lies between the sources of the clients and starter kits, but is not part of them. */

const INSTALLED = /(^|[/\\])(node_modules|\.venv|__pycache__|dist|package-lock\.json)([/\\]|$)/;

/** True for a path that npm, Python or a build wrote. */
export function isInstalled(path: string): boolean {
  return INSTALLED.test(path);
}
