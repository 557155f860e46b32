/**
 * Identity providers as better-auth's social providers. Its own generic-oauth plugin doesn't check the issuer of a discovery
 * document, and requests every URL that the document names.
 */
import {
  authorizationCodeRequest,
  createAuthorizationURL,
  getOAuth2Tokens,
  type OAuth2Tokens,
  type OAuthProvider,
} from "better-auth/oauth2";
import { getOAuthState } from "better-auth/api";
import { errors as joseErrors, jwtVerify } from "jose";
import type { Discovery, ProviderMetadata } from "./discovery.ts";

/** The `id` of the operators' provider. */
export const OPERATORS = "operators";

/** Below the service's own URL: what owners register as redirect URI. */
export const callbackPath = (id: string): string => `/auth/callback/${id}`;

/** The codes of errors (`?error=`) that the sign-in page explains. */
export type SsoError =
  | "sso_cancelled"
  | "sso_clock"
  | "sso_email_unverified"
  | "sso_expired"
  | "sso_failed"
  | "sso_refused"
  | "sso_suspended"
  | "sso_unavailable"
  | "sso_wrong_account";

/** A claim of the ID token, and the value that it must be or contain. */
export interface RequiredClaim {
  readonly name: string;
  readonly value: string;
}

/** The settings `OIDC_…`. */
export interface OperatorSso {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: readonly string[];
  readonly requiredClaim: RequiredClaim | null;
}

export interface IdentityProvider extends OperatorSso {
  /** `operators`, or the uuid of the organisation. */
  readonly id: string;
  /** Of the users it may sign in; null for operators. */
  readonly organizationId: string | null;
  /** Of the e-mail addresses it may link; null for any. */
  readonly domain: string | null;
}

/** The claims of a verified ID token, with the e-mail address of the user information if the token has none. */
export type Claims = Readonly<Record<string, unknown>> & { readonly sub: string };

/** The clocks may differ by this. The library's own check allows 30 s. */
const CLOCK_TOLERANCE = "5m";
/** Entra ID issues tokens that are five minutes old. */
const MAX_TOKEN_AGE = "5m";

/** Some providers send booleans as text or numbers. */
const TRUE: ReadonlySet<unknown> = new Set([true, "true", 1, "1"]);

interface Connection {
  readonly fetchJson: Discovery["fetchJson"];
  readonly metadata: ProviderMetadata;
}

export function toOAuthProvider(idp: IdentityProvider, connection: Connection): OAuthProvider<Claims> {
  const { id, issuer, clientId, clientSecret, scopes } = idp;
  const { metadata } = connection;
  const options = { clientId, clientSecret, disableSignUp: true };
  return {
    id,
    name: id,
    issuer,
    requiresIdTokenNonce: true,
    options,
    accountSubject: ({ profile }) => accountIdOf(idp, profile),
    createAuthorizationURL: (request) =>
      createAuthorizationURL({
        ...request,
        id,
        options,
        authorizationEndpoint: metadata.authorization_endpoint,
        nonce: request.idTokenNonce,
        scopes: [...scopes],
      }),
    async validateAuthorizationCode({ code, codeVerifier, redirectURI }) {
      // The code must come from the provider that the browser was sent to.
      if ((await getOAuthState())?.serverContext?.["provider"] !== id) throw new Error("Another provider");
      return await exchangeCode(connection, { code, codeVerifier, redirectURI, options });
    },
    async getUserInfo({ idToken = "", accessToken, expectedIdTokenNonce: nonce }) {
      // jose finds no key for `none` and symmetric algorithms. With a maximum age it refuses tokens of the future too.
      const { payload } = await jwtVerify(idToken, metadata.keys, {
        issuer,
        audience: clientId,
        requiredClaims: ["sub", "exp", "iat"],
        clockTolerance: CLOCK_TOLERANCE,
        maxTokenAge: MAX_TOKEN_AGE,
      });
      const claims = payload as Claims;
      const { azp } = claims;
      if (!nonce || claims["nonce"] !== nonce || (azp !== undefined && azp !== clientId)) return null;
      const info = await readUserInfo(connection, claims, accessToken);
      if (info["sub"] !== claims.sub) return null;
      const { email, email_verified: emailVerified, xms_edov: domainOwnerVerified } = info;
      return {
        user: {
          email: typeof email === "string" ? email.trim().toLowerCase() : null,
          // Entra ID has the second claim instead.
          emailVerified: TRUE.has(emailVerified ?? domainOwnerVerified),
        },
        data: { ...info, ...claims },
      };
    },
  };
}

/** The subject is unique only within its issuer. */
export function accountIdOf({ issuer }: IdentityProvider, { sub }: Claims): string {
  return `${issuer} ${sub}`;
}

/** True if an ID token was refused because of its time. It has just been issued, so the clocks differ. */
export function isClockError(error: unknown): boolean {
  return (
    error instanceof joseErrors.JWTExpired ||
    (error instanceof joseErrors.JWTClaimValidationFailed &&
      error.reason === "check_failed" &&
      ["iat", "nbf"].includes(error.claim))
  );
}

type CodeRequest = Parameters<typeof authorizationCodeRequest>[0];

async function exchangeCode(
  { fetchJson, metadata }: Connection,
  code: Pick<CodeRequest, "code" | "codeVerifier" | "redirectURI" | "options">,
): Promise<OAuth2Tokens> {
  const { token_endpoint: tokenEndpoint, token_endpoint_auth_methods_supported: methods } = metadata;
  const authentication = methods.includes("client_secret_basic") ? "basic" : "post";
  const { body, headers } = await authorizationCodeRequest({ ...code, authentication, tokenEndpoint });
  const form = { method: "POST", headers, body: body.toString() } as const;
  const { idToken, accessToken } = getOAuth2Tokens(await fetchJson(tokenEndpoint, form));
  return { idToken, accessToken };
}

/** Returns the ID token's claims if they have the e-mail address, and otherwise the user information. */
async function readUserInfo(
  { fetchJson, metadata: { userinfo_endpoint: endpoint } }: Connection,
  claims: Claims,
  accessToken: string | undefined,
): Promise<Readonly<Record<string, unknown>>> {
  if (claims["email"] !== undefined || endpoint === undefined || accessToken === undefined) return claims;
  return await fetchJson(endpoint, { headers: { authorization: `Bearer ${accessToken}` } });
}

/** True if the claim is the value, or a list that contains it. */
export function hasClaim(claims: Claims, { name, value }: RequiredClaim): boolean {
  const claim = claims[name];
  return Array.isArray(claim) ? claim.includes(value) : claim === value;
}
