/** Where the service stands: `/`, or a path of its own behind a proxy. The server writes it into the page's `<base>`. */
export const basePath = new URL(document.baseURI).pathname;

/** Agenda's own dashboard: served by the API, not by the console, so that a link of the router would not leave the page. */
export const AGENDA_DASHBOARD_PATH = "/operator/agenda/";

/** A path of the server's, such as `auth/session`, as an address. */
export function serverUrl(path: string): string {
  return new URL(path.replace(/^\//, ""), document.baseURI).href;
}
