/** The service's own base URL, for links in pages and mails. */

/** Uses `publicUrl` (without a trailing slash), or if it is null the URL that the server listens on. */
export function createPublicUrl(publicUrl: string | null, { host, port }: { host: string; port: number }) {
  let base = publicUrl ?? toLocalUrl(`http://${host.includes(":") ? `[${host}]` : host}:${port}`);
  return {
    /** Returns the URL of a page, such as `https://api.example.com/sign-in`. */
    pageUrl: (path: string): string => base + path,
    /** Called once the server listens and its port is known. */
    setListenUrl: (url: string): void => {
      base = publicUrl ?? toLocalUrl(url);
    },
  };
}

/** Returns the path of PUBLIC_URL without a trailing slash, for example `/waymark`, or an empty string. */
export function pathPrefix(publicUrl: string | null): string {
  return publicUrl === null ? "" : new URL(publicUrl).pathname.replace(/\/$/, "");
}

/** Replaces the wildcard hosts 0.0.0.0 and [::], which a browser cannot open, by localhost. */
function toLocalUrl(url: string): string {
  return url.replace(/^http:\/\/(0\.0\.0\.0|\[::\])(?=:)/, "http://localhost");
}
