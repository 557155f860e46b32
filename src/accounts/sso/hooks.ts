/** Single sign-on at better-auth's endpoints: finds the provider of a sign-in, decides whom it may sign in, and names errors. */
import type { BetterAuthOptions, GenericEndpointContext } from "better-auth";
import { addOAuthServerContext } from "better-auth/api";
import type { OAuthProvider } from "better-auth/oauth2";
import { z } from "zod";
import { AppError, isUnavailable, unavailable } from "../../core/errors.ts";
import { pathPrefix } from "../../core/public-url.ts";
import { User } from "../../organizations/api.ts";
import { authRequest } from "../auth/auth-request.ts";
import { recordFailedSignIn } from "../auth/client-info.ts";
import type { AccountContext } from "../context.ts";
import { UserCredential } from "../credential.entity.ts";
import { normalizeEmail, parseOrThrow } from "../fields.ts";
import { DiscoveryError } from "./discovery.ts";
import {
  callbackPath,
  type Claims,
  hasClaim,
  type IdentityProvider,
  OPERATORS,
  type SsoError,
  toOAuthProvider,
} from "./provider.ts";
import { domainOf } from "./service.ts";

type Endpoint = GenericEndpointContext;
type Admission = NonNullable<NonNullable<BetterAuthOptions["user"]>["validateUserInfo"]>;

export const SSO_START = "/sign-in/social";
export const SSO_CALLBACK = "/callback/:id";

/** By the library's code, or the provider's. Every other one is `sso_failed`. */
const errors: Readonly<Record<string, SsoError>> = {
  access_denied: "sso_cancelled",
  account_not_linked: "sso_email_unverified",
  email_not_found: "sso_email_unverified",
  oauth_provider_not_found: "sso_unavailable",
  ORGANIZATION_SUSPENDED: "sso_suspended",
  server_error: "sso_unavailable",
  signup_disabled: "sso_refused",
  sso_refused: "sso_refused",
  state_mismatch: "sso_expired",
  state_not_found: "sso_expired",
  temporarily_unavailable: "sso_unavailable",
};

/** Strict, as the library would take its other members from the request: an ID token, or parameters for the provider. */
const startBody = z.strictObject({
  provider: z.enum([OPERATORS, "organization"]),
  /** Selects the organisation's provider. */
  email: z.string().max(300).optional(),
  /** The page to open after signing in. */
  callbackURL: z.string().max(2_000).optional(),
  /** The provider must ask the user again. */
  confirm: z.boolean().optional(),
});

type SsoContext = Pick<
  AccountContext,
  "backgroundQueue" | "database" | "logger" | "metrics" | "publicUrl" | "sso" | "throttle"
>;

export class SsoHooks {
  readonly #context: SsoContext;

  constructor(context: SsoContext) {
    this.#context = context;
  }

  /** The library finds the provider of the request here. */
  static readonly providers = [() => authRequest().provider ?? { id: null }] as unknown as OAuthProvider[];

  /** Replaces the body by the library's. Throws NotFoundException, and ServiceUnavailableException if the provider is down. */
  async start({ body }: Endpoint) {
    const { sso, throttle, publicUrl } = this.#context;
    const { provider, email = "", callbackURL, confirm } = parseOrThrow(startBody, body ?? {});
    await throttle.take(["sso-address", authRequest().client.ipAddress]);
    const idp =
      provider === OPERATORS ? await sso.findById(OPERATORS) : await sso.findByEmail(normalizeEmail(email));
    if (!idp)
      throw new AppError("NotFoundException", "No single sign-on is set up for this e-mail address’s domain");
    await this.#open(idp);
    await addOAuthServerContext({ provider: idp.id });
    const prefix = pathPrefix(publicUrl);
    return {
      context: {
        body: {
          provider: idp.id,
          callbackURL: prefix + ownPath(callbackURL),
          errorCallbackURL: `${prefix}/sign-in`,
          ...(email !== "" && { loginHint: email }),
          ...(confirm && { additionalParams: { prompt: "login" } }),
        },
      },
    };
  }

  /** Without a provider, or if it is down, the library redirects to the sign-in page. */
  async callback({ params }: Endpoint): Promise<void> {
    try {
      const idp = await this.#context.sso.findById(String(params?.["id"]));
      if (idp) await this.#open(idp);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
  }

  /** Decides who may be signed in, once the ID token is verified. Linked users are known by its subject, others by e-mail. */
  readonly admit: Admission = async ({ user, source }) => {
    const request = authRequest();
    const { idp } = request;
    if (source.method !== "oauth" || !idp) return undefined;
    const claims = source.oauth?.profile as Claims;
    const em = this.#context.database.em();
    const account = await em.findOne(
      User,
      { id: String(user.id) },
      { filters: false, populate: ["organization"] },
    );
    request.user = account;
    request.identityEmail = String(user.email);
    const isOfGroup = account && (account.organization?.id ?? null) === idp.organizationId;
    if (!isOfGroup || (idp.requiredClaim && !hasClaim(claims, idp.requiredClaim)))
      return { error: "sso_refused" };
    if (source.action === "sign-in") return undefined;
    // A mailbox can get a new owner, so a second identity doesn't replace the first.
    const linked = { user: account.id, providerId: idp.id, accountId: { $like: `${idp.issuer} %` } };
    const isOfDomain = idp.domain === null || domainOf(account.email) === idp.domain;
    return isOfDomain && (await em.count(UserCredential, linked)) === 0
      ? undefined
      : { error: "sso_refused" };
  };

  /** Sends the browser to the sign-in page with one of our codes, after a callback without a new session. */
  refuse(endpoint: Endpoint, location: string): Error {
    const { metrics, publicUrl } = this.#context;
    const { client, failure, idp, user } = authRequest();
    const given = URL.parse(location, "http://here.invalid")?.searchParams.get("error") ?? "";
    const code = failure ?? errors[given] ?? "sso_failed";
    metrics.signInAttempts.inc({ outcome: code });
    if (user && idp)
      recordFailedSignIn(this.#context, user, client, {
        step: "single_sign_on",
        reason: code,
        issuer: idp.issuer,
      });
    return endpoint.redirect(`${pathPrefix(publicUrl)}/sign-in?error=${code}`);
  }

  async #open(idp: IdentityProvider): Promise<void> {
    const { sso, publicUrl, logger } = this.#context;
    const request = authRequest();
    const discovery = sso.discoveryOf(idp);
    const fetchJson: typeof discovery.fetchJson = async (...call) => {
      try {
        return await request.external(() => discovery.fetchJson(...call));
      } catch (error) {
        logger.warn({ err: error, issuer: idp.issuer }, "an identity provider answered with an error");
        request.failure = "sso_unavailable";
        throw error;
      }
    };
    try {
      const metadata = await request.external(() => discovery.of(idp.issuer));
      const redirectURI = `${publicUrl ?? request.origin}${callbackPath(idp.id)}`;
      request.idp = idp;
      request.provider = toOAuthProvider(idp, { discovery: { fetchJson }, metadata, redirectURI });
    } catch (error) {
      if (!(error instanceof DiscoveryError)) throw error;
      logger.warn({ err: error.cause, issuer: idp.issuer }, "an identity provider can't be used");
      throw unavailable("Your identity provider does not answer. Try again in a few minutes.", 60, error);
    }
  }
}

/** Returns the path of this service, `/` for anything else. Parsing drops the host, tabs, and `/.` before a second slash. */
function ownPath(text = "/"): string {
  const url = text.startsWith("/") ? URL.parse(text, "http://here.invalid") : null;
  const path = url ? url.pathname + url.search + url.hash : "/";
  return path.startsWith("//") ? "/" : path;
}
