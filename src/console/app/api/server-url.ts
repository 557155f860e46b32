/** The path of the service: `/`, or a prefix behind a proxy. The server writes it into the page's `<base>`. */
export const basePath = new URL(document.baseURI).pathname;

/** Agenda's dashboard. The server renders it, so it needs a full page load instead of a router link. */
export const AGENDA_DASHBOARD_PATH = "/operator/agenda/";

/** The absolute URL of a server path such as `auth/session`. */
export function serverUrl(path: string): string {
  return new URL(path.replace(/^\//, ""), document.baseURI).href;
}
