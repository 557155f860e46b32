/** Where people find the service: for its pages, and for links in mails, which no request is there to be asked. */

export interface PublicUrl {
  /** The address of a page, such as `https://api.example.com/sign-in`. */
  readonly pageUrl: (path: string) => string;
  /** Told once the server listens, and has got its port. */
  readonly setListenUrl: (url: string) => void;
}

/** `publicUrl` wins, without a slash at its end; null: where the server listens, seen from the same machine. */
export function createPublicUrl(
  publicUrl: string | null,
  { host, port }: { host: string; port: number },
): PublicUrl {
  let base = publicUrl ?? toLocalUrl(`http://${host.includes(":") ? `[${host}]` : host}:${port}`);
  return {
    pageUrl: (path) => base + path,
    setListenUrl(url) {
      base = publicUrl ?? toLocalUrl(url);
    },
  };
}

/** What stands before every path behind a proxy that gives the service a path of its own: `/waymark`, or nothing. */
export function pathPrefix(publicUrl: string | null): string {
  return publicUrl === null ? "" : new URL(publicUrl).pathname.replace(/\/$/, "");
}

/** Who listens everywhere is found on this machine. */
function toLocalUrl(url: string): string {
  return url.replace(/^http:\/\/(0\.0\.0\.0|\[::\])(?=:)/, "http://localhost");
}
