/** Identity providers on the loopback interface: `oidc-provider`, and one whose ID tokens a test chooses. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import { Provider } from "oidc-provider";

export const CLIENT = { id: "waymark", secret: "a secret of at least 32 characters, for HS256" };

/** The artifacts of the provider. Without a lifetime of each it logs a warning. */
const ARTIFACTS = ["AccessToken", "AuthorizationCode", "Grant", "IdToken", "Interaction", "Session"];

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => void server.close(() => resolve()));
}

/** Claims of the user that an issuer signs in, by their subject. */
export type Person = { sub: string; email: string; email_verified?: boolean; [claim: string]: unknown };

/** A conforming provider, which signs `person` in without asking. Call `serve` once its client's redirect URIs are known. */
export async function startOidcProvider() {
  let provider: Provider | null = null;
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/interaction/"))
      void provider?.interactionFinished(request, response, { login: { accountId: issuer.person.sub } });
    else provider?.callback()(request, response);
  });
  const url = await listen(server);
  const issuer = {
    url,
    person: { sub: "1", email: "" } as Person,
    serve(redirectUris: string[]): void {
      provider = new Provider(url, {
        clients: [{ client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: redirectUris }],
        pkce: { required: () => true },
        claims: { openid: ["sub", "groups"], email: ["email", "email_verified"] },
        ttl: Object.fromEntries(ARTIFACTS.map((name) => [name, 600])),
        features: { devInteractions: { enabled: false } },
        interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
        findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ ...issuer.person }) }),
        async loadExistingGrant({ oidc }) {
          const grant = new oidc.provider.Grant({
            clientId: CLIENT.id,
            accountId: oidc.session?.accountId ?? "",
          });
          grant.addOIDCScope("openid email profile");
          await grant.save();
          return grant;
        },
      });
    },
    /** Follows the provider's redirects like a browser. Returns the URL of the callback. */
    async authorize(start: string): Promise<string> {
      const cookies = new Map<string, string>();
      let next = start;
      while (next.startsWith(url)) {
        const cookie = Array.from(cookies, (pair) => pair.join("=")).join("; ");
        // Each redirect needs the cookies of the one before.
        const response = await fetch(next, { redirect: "manual", headers: { cookie } });
        for (const line of response.headers.getSetCookie()) {
          const [pair = ""] = line.split(";");
          cookies.set(pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1));
        }
        const location = response.headers.get("location");
        if (location === null) throw new Error(`${next}: ${response.status} ${await response.text()}`);
        next = new URL(location, next).href;
      }
      return next;
    },
    [Symbol.asyncDispose]: () => close(server),
  };
  return issuer;
}

/** How an ID token differs from a correct one. */
export interface Forgery {
  readonly claims?: JWTPayload;
  /** Of the issue, from now. */
  readonly ageS?: number;
  readonly lifetimeS?: number;
  readonly algorithm?: "none" | "HS256";
  readonly kid?: string;
}

/** A provider that issues the ID token that the test chooses, and counts its requests. */
export async function startHostileIssuer() {
  const { privateKey, publicKey } = await generateKeyPair("RS256");
  const keys = [{ ...(await exportJWK(publicKey)), kid: "k1", alg: "RS256", use: "sig" }];
  const issuer = {
    url: "",
    person: { sub: "1", email: "" } as Person,
    forgery: {} as Forgery,
    nonce: "",
    isDown: false,
    /** The forms that the token endpoint got. */
    tokenRequests: [] as URLSearchParams[],
    [Symbol.asyncDispose]: () => close(server),
  };
  const signIdToken = async (): Promise<string> => {
    const { claims, ageS = 0, lifetimeS = 300, algorithm = "RS256", kid = "k1" } = issuer.forgery;
    const issued = Math.floor(Date.now() / 1000) - ageS;
    const own = {
      iss: issuer.url,
      aud: CLIENT.id,
      nonce: issuer.nonce,
      iat: issued,
      exp: issued + lifetimeS,
    };
    const payload = { ...issuer.person, ...own, ...claims };
    if (algorithm === "none") return new UnsecuredJWT(payload).encode();
    const key = algorithm === "HS256" ? new TextEncoder().encode(CLIENT.secret) : privateKey;
    return await new SignJWT(payload).setProtectedHeader({ alg: algorithm, kid }).sign(key);
  };
  const answer = async (path: string, body: string): Promise<object> => {
    if (path === "/keys") return { keys };
    if (path === "/token") {
      issuer.tokenRequests.push(new URLSearchParams(body));
      return { access_token: "a", token_type: "Bearer", refresh_token: "r", id_token: await signIdToken() };
    }
    return {
      issuer: issuer.url,
      authorization_endpoint: `${issuer.url}/authorize`,
      token_endpoint: `${issuer.url}/token`,
      jwks_uri: `${issuer.url}/keys`,
    };
  };
  const server = createServer((request, response) => {
    const respond = async (): Promise<void> => {
      const body = await text(request);
      if (issuer.isDown) response.writeHead(503).end();
      else response.end(JSON.stringify(await answer(request.url ?? "", body)));
    };
    void respond();
  });
  issuer.url = await listen(server);
  return issuer;
}
