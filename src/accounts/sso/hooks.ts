/** Single sign-on at better-auth's endpoints: finds the provider of a sign-in, decides whom it may sign in, and names errors. */
import type { BetterAuthOptions, GenericEndpointContext } from "better-auth";
import { addOAuthServerContext, getOAuthState } from "better-auth/api";
import type { OAuthProvider } from "better-auth/oauth2";
import { raw } from "@mikro-orm/postgresql";
import { z } from "zod";
import { AppError, isUnavailable, unavailable } from "../../core/errors.ts";
import { pathPrefix } from "../../core/public-url.ts";
import { User } from "../../organizations/api.ts";
import { authRequest, recordFailedSignIn } from "../auth/auth-request.ts";
import type { AccountContext } from "../context.ts";
import { UserCredential } from "../credential.entity.ts";
import { normalizeEmail, parseOrThrow, userNameField } from "../fields.ts";
import type { EmailTokenLink } from "../email-token.service.ts";
import { RegistrationService } from "../members/registration.service.ts";
import { DiscoveryError } from "./discovery.ts";
import {
  accountIdOf,
  type Claims,
  hasClaim,
  type IdentityProvider,
  isClockError,
  OPERATORS,
  type SsoError,
  toOAuthProvider,
} from "./provider.ts";
import { domainOf } from "./service.ts";

type Endpoint = GenericEndpointContext;
type Identity = NonNullable<Awaited<ReturnType<OAuthProvider<Claims>["getUserInfo"]>>>;
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
  provider: z.enum([OPERATORS, "organization", "invitation"]),
  /** Selects the organisation's provider. */
  email: z.string().max(300).optional(),
  /** Of the link of an invitation or registration, which the sign-in accepts. */
  token: z.string().optional(),
  /** The page to open after signing in. */
  callbackURL: z.string().max(2_000).optional(),
  /** The provider must ask the user again. */
  confirm: z.boolean().optional(),
});

export class SsoHooks {
  readonly #context: AccountContext;
  readonly #registrations: RegistrationService;

  constructor(context: AccountContext) {
    this.#context = context;
    this.#registrations = new RegistrationService(context);
  }

  /** The library finds the provider of the request here. */
  static readonly providers = [() => authRequest().provider ?? { id: null }] as unknown as OAuthProvider[];

  /** Replaces the body by the library's. Throws NotFoundException, and ServiceUnavailableException if the provider is down. */
  async start({ body }: Endpoint) {
    const { sso, throttle, publicUrl } = this.#context;
    const { provider, token, callbackURL, confirm, ...given } = parseOrThrow(startBody, body ?? {});
    const { client } = authRequest();
    await throttle.take(["sso-address", client.ipAddress]);
    const link = provider === "invitation" ? await this.#registrations.check({ token }, client) : null;
    const { email = "" } = link ?? given;
    const idp =
      provider === "organization"
        ? await sso.findByEmail(normalizeEmail(email))
        : await sso.findById(link?.organizationId ?? OPERATORS);
    if (!idp || link?.singleSignOn === null)
      throw new AppError("NotFoundException", "No single sign-on is set up for this e-mail address’s domain");
    await this.#open(idp);
    await addOAuthServerContext({ provider: idp.id, ...(link && { link }) });
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
    const { em, idp } = request;
    if (source.method !== "oauth" || !idp) return undefined;
    const claims = source.oauth?.profile as Claims;
    const options = { filters: false, populate: ["organization"], strategy: "joined" } as const;
    const account = await em.findOne(User, { id: String(user.id), ...whileConnected(idp) }, options);
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
    const { failure, idp, user } = authRequest();
    const given = URL.parse(location, "http://here.invalid")?.searchParams.get("error") ?? "";
    const code = failure ?? errors[given] ?? "sso_failed";
    metrics.signInAttempts.inc({ outcome: code });
    const details = { step: "single_sign_on", reason: code, issuer: idp?.issuer };
    if (user) recordFailedSignIn(this.#context, user, details);
    return endpoint.redirect(`${pathPrefix(publicUrl)}/sign-in?error=${code}`);
  }

  /** Creates the account of the invitation or registration that the sign-in began with, if any. Returns why it can't. */
  async #accept(idp: IdentityProvider, { user, data }: Identity): Promise<SsoError | null> {
    const link = (await getOAuthState())?.serverContext?.["link"] as EmailTokenLink | undefined;
    if (!link) return null;
    if (!user.emailVerified) return "sso_email_unverified";
    if (normalizeEmail(String(user.email)) !== link.email) return "sso_wrong_account";
    if (idp.requiredClaim && !hasClaim(data, idp.requiredClaim)) return "sso_refused";
    try {
      const { requestId, ipAddress } = authRequest().client;
      await this.#registrations.join(
        link,
        { name: nameOf(data, link.email), providerId: idp.id, accountId: accountIdOf(idp, data) },
        { requestId, ipAddress },
      );
      return null;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return error.code === "NotFoundException" ? "sso_expired" : "sso_wrong_account";
    }
  }

  async #open(idp: IdentityProvider): Promise<void> {
    const { sso, logger } = this.#context;
    const request = authRequest();
    const discovery = sso.discoveryOf(idp);
    const fetchJson: typeof discovery.fetchJson = async (...call) => {
      try {
        return await request.external(() => discovery.fetchJson(...call));
      } catch (error) {
        request.failure = "sso_unavailable";
        throw error;
      }
    };
    try {
      const metadata = await request.external(() => discovery.of(idp.issuer));
      const provider = toOAuthProvider(idp, { fetchJson, metadata });
      const identify: typeof provider.getUserInfo = async (tokens) => {
        try {
          const identity = await provider.getUserInfo(tokens);
          const failure = identity && (await this.#accept(idp, identity));
          request.failure = failure;
          return failure === null ? identity : null;
        } catch (error) {
          logger.warn({ err: error, issuer: idp.issuer }, "the answer of an identity provider was refused");
          if (isClockError(error)) request.failure = "sso_clock";
          return null;
        }
      };
      request.idp = idp;
      request.provider = { ...provider, getUserInfo: identify };
    } catch (error) {
      if (!(error instanceof DiscoveryError)) throw error;
      logger.warn({ err: error.cause, issuer: idp.issuer }, "an identity provider can't be used");
      throw unavailable("Your identity provider does not answer. Try again in a few minutes.", 60, error);
    }
  }
}

/**
 * True for users whose organisation still has the provider, in the statement that reads their epoch: a later change of the provider ends
 * the session by that.
 */
function whileConnected({ organizationId, issuer, clientId }: IdentityProvider): object {
  if (organizationId === null) return {};
  const connection = `select from sso_connection where organization_id = ? and issuer = ? and client_id = ?`;
  return { [raw(`exists (${connection})`, [organizationId, issuer, clientId])]: true };
}

/** One line, as the provider has it. */
function nameOf({ name }: Claims, email: string): string {
  return userNameField.safeParse(name).data ?? email.slice(0, email.lastIndexOf("@"));
}

/** Returns the path of this service, `/` for anything else. Parsing drops the host, tabs, and `/.` before a second slash. */
function ownPath(text = "/"): string {
  const url = text.startsWith("/") ? URL.parse(text, "http://here.invalid") : null;
  const path = url ? url.pathname + url.search + url.hash : "/";
  return path.startsWith("//") ? "/" : path;
}
