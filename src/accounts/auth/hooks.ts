/** What Waymark adds to better-auth's endpoints: limits of attempts, suspension, audit entries, mails and its own messages. */
import type { BetterAuthPlugin, GenericEndpointContext } from "better-auth";
import { APIError, createAuthMiddleware, isAPIError } from "better-auth/api";
import { recordAuditEvent } from "../../audit/api.ts";
import { networkOf } from "../../core/network.ts";
import { User } from "../../organizations/api.ts";
import type { AccountContext } from "../context.ts";
import { accountEmail } from "../fields.ts";
import { MAX_PASSWORD_LENGTH } from "../passwords/rules.ts";
import { PASSKEY_SIGN_IN, passkeyHooks, refusedPasskey } from "../passkeys/hooks.ts";
import { passkeySchema } from "../passkeys/plugin.ts";
import { SSO_CALLBACK, SSO_START, SsoHooks } from "../sso/hooks.ts";
import { activeAt, PASSKEY_SESSION, UserSession } from "../sessions/entity.ts";
import { accountHooks } from "./account-hooks.ts";
import { authRequest, type EndpointHooks, recordFailedSignIn } from "./auth-request.ts";
import { cookieAttributes, readSignedCookie, SESSION_COOKIE, TWO_FACTOR_COOKIE } from "./cookies.ts";
import { KnownBrowsers } from "./known-browser.ts";
import { refusal, ssoRequiredError, translate } from "./messages.ts";

type Endpoint = GenericEndpointContext;

const failedOutcomes = {
  password: "invalid_credentials",
  two_factor: "invalid_code",
  passkey: "invalid_passkey",
} as const;

/** The endpoints that end with a new session. */
const signInSteps: Readonly<Record<string, keyof typeof failedOutcomes>> = {
  [PASSKEY_SIGN_IN]: "passkey",
  "/sign-in/email": "password",
  "/two-factor/verify-totp": "two_factor",
  "/two-factor/verify-backup-code": "two_factor",
};

/** The last plugin, so that `after` sees what the others decided. */
export function waymarkPlugin(context: AccountContext, sso: SsoHooks) {
  const signIn = new SignInHooks(context);
  const [account, passkey] = [accountHooks(context), passkeyHooks(context)];
  const after = { ...account.after, ...passkey.after };
  const before: EndpointHooks["before"] = {
    ...account.before,
    ...passkey.before,
    "/sign-in/email": (endpoint) => signIn.beforePassword(endpoint),
    "/two-factor/verify-totp": (endpoint) => signIn.beforeCode(endpoint),
    "/two-factor/verify-backup-code": (endpoint) => signIn.beforeCode(endpoint),
    [SSO_START]: (endpoint) => sso.start(endpoint),
    [SSO_CALLBACK]: (endpoint) => sso.callback(endpoint),
  };
  return {
    id: "waymark",
    schema: passkeySchema,
    init: () => ({
      context: { socialProviders: SsoHooks.providers },
      options: {
        databaseHooks: {
          session: {
            create: { before: (session, endpoint) => signIn.prepareSession(session, endpoint?.path) },
          },
          verification: { create: { before: withEpoch } },
          account: { create: { before: withoutTokens } },
        },
      },
    }),
    hooks: {
      before: [
        {
          matcher: () => true,
          handler: createAuthMiddleware(async (endpoint) => await before[endpoint.path]?.(endpoint)),
        },
      ],
      after: [
        {
          matcher: () => true,
          handler: createAuthMiddleware(async (endpoint) => {
            const { path } = endpoint;
            const { returned, newSession } = endpoint.context;
            if (isAPIError(returned) && returned.status !== "FOUND") {
              signIn.countFailure(endpoint, returned);
              throw translate(returned);
            }
            if (path === SSO_CALLBACK && !newSession) throw sso.refuse(endpoint, locationOf(returned));
            await context.throttle.refund(...authRequest().attempts);
            if (isSignIn()) await signIn.complete(endpoint);
            return await after[path]?.(endpoint);
          }),
        },
      ],
    },
  } satisfies BetterAuthPlugin;
}

/** See UserSession. */
function sessionProvider(): string | null {
  const { idp, passkey } = authRequest();
  return idp?.id ?? (passkey ? PASSKEY_SESSION : null);
}

/** How the user of the request signed in, for the audit log. */
function signInDetails(path: string): Record<string, unknown> {
  const { idp, identityEmail, passkey, user } = authRequest();
  if (passkey) return { passkey: passkey.name };
  if (!idp) return { two_factor: twoFactorKinds[path] ?? null };
  return {
    single_sign_on: idp.issuer,
    ...(identityEmail !== user?.email && { provider_email: identityEmail }),
  };
}

/** False for changes of a signed-in user, such as turning two-factor authentication on with a code. */
const isSignIn = (): boolean => authRequest().principal === null;

class SignInHooks {
  readonly #context: AccountContext;
  readonly #knownBrowsers: KnownBrowsers;

  constructor(context: AccountContext) {
    this.#context = context;
    this.#knownBrowsers = new KnownBrowsers(context);
  }

  /** Takes an attempt at the password. Throws TooManyRequestsException. */
  async beforePassword({ body }: Endpoint) {
    const given = bodyOf(body);
    // The library rejects them.
    if (typeof given["email"] !== "string" || typeof given["password"] !== "string") return undefined;
    const { data: email } = accountEmail.safeParse(given["email"]);
    // No account has them, so there is nothing to guess.
    if (email === undefined || given["password"].length > MAX_PASSWORD_LENGTH)
      throw refusal("INVALID_EMAIL_OR_PASSWORD");
    const request = authRequest();
    const { client } = request;
    request.user = await this.#findUser({ email });
    const browser = this.#knownBrowsers.find(client.cookie, request.user);
    request.attempts =
      browser === null
        ? [
            ["sign-in-address", client.ipAddress],
            ["sign-in-network", `${email} ${networkOf(client.ipAddress)}`],
          ]
        : [["sign-in-browser", browser]];
    // Not refunded on success, as a successful attempt costs a hash too.
    await this.#context.throttle.take(...request.attempts, [
      browser === null ? "sign-in-total-account" : "sign-in-total-known",
      email,
    ]);
    return { context: { body: { ...given, email } } };
  }

  /** Takes an attempt at a code. A used TOTP code is rejected before the library sees it, which would end the sign-in. */
  async beforeCode({ path, body, context }: Endpoint) {
    const { throttle, authSecret } = this.#context;
    const request = authRequest();
    const { client, principal } = request;
    request.attempts = [["two-factor-address", client.ipAddress]];
    await throttle.take(...request.attempts);
    const challenge = principal ? null : readSignedCookie(client.cookie, TWO_FACTOR_COOKIE, authSecret);
    const verification: { value: string; epoch?: string | null } | null =
      challenge === null ? null : await context.internalAdapter.findVerificationValue(challenge);
    const id = principal?.user.id ?? verification?.value;
    if (id === undefined) return undefined;
    request.user = await this.#findUser({ id });
    // The user has changed since the password was checked.
    if (verification && verification.epoch !== request.user?.epoch)
      throw refusal("INVALID_TWO_FACTOR_COOKIE");
    const isUsed =
      path === "/two-factor/verify-totp" &&
      !(await throttle.tryTake(["totp-replay", `${id} ${String(bodyOf(body)["code"])}`]));
    if (isUsed) throw refusal("INVALID_CODE");
    // A trusted browser would need no code for a month (docs/decisions/0053).
    return { context: { body: { ...bodyOf(body), trustDevice: false } } };
  }

  /** Rejects a user whose organisation is suspended, or who must use single sign-on. */
  async prepareSession(session: { userId: string; authenticatedAt?: unknown }, path: string | undefined) {
    const request = authRequest();
    const user =
      request.user?.id === session.userId ? request.user : await this.#findUser({ id: session.userId });
    request.user = user;
    if (!user || user.organization?.suspendedAt)
      throw new APIError("FORBIDDEN", {
        code: "ORGANIZATION_SUSPENDED",
        message:
          "Your organisation is suspended, so you can’t sign in. Contact the operator of this service.",
      });
    if (
      (path === "/sign-in/email" || path === PASSKEY_SIGN_IN) &&
      (await this.#context.sso.isRequiredFor(user))
    )
      throw ssoRequiredError();
    const now = this.#context.clock.now();
    return {
      data: {
        ...session,
        epoch: user.epoch,
        provider: sessionProvider(),
        authenticatedAt: session.authenticatedAt ?? new Date(now),
        lastSeenAt: new Date(now),
      },
    };
  }

  /**
   * Without a new session, a code is still missing. A user who is signed in confirms their identity: their session stays, so that
   * open pages go on. Another user's session in the browser ends.
   */
  async complete(endpoint: Endpoint): Promise<void> {
    const { authSecret, clock, metrics } = this.#context;
    const { newSession } = endpoint.context;
    const { client, em, user, passkey } = authRequest();
    if (!user) return;
    const now = clock.now();
    const provider = sessionProvider();
    const token = readSignedCookie(client.cookie, SESSION_COOKIE, authSecret);
    // Another way of signing in has another session: single sign-on and passkeys replace two-factor authentication.
    const ways = passkey ? [{ provider }, { provider: null }] : [{ provider }];
    const own = { user, epoch: user.epoch, $or: ways, ...activeAt(now) };
    const confirmed = token === null ? null : await em.findOne(UserSession, { token, ...own });
    if (token !== null && confirmed) {
      if (newSession)
        await em.nativeUpdate(UserSession, { token }, { authenticatedAt: new Date(now), provider });
      // The library has replaced the cookie, or removed it until the code is entered.
      await endpoint.setSignedCookie(SESSION_COOKIE, token, authSecret, {
        ...cookieAttributes,
        maxAge: Math.floor((confirmed.expiresAt.getTime() - now) / 1000),
      });
    }
    if (!newSession) return;
    const ended = confirmed ? newSession.session.token : token;
    if (ended !== null) await em.nativeDelete(UserSession, { token: ended });
    await recordAuditEvent(em, {
      ...client,
      action: confirmed ? "session.reauthenticated" : "session.opened",
      actor: { type: "user", id: user.id },
      organizationId: user.organization?.id ?? null,
      details: signInDetails(endpoint.path),
    });
    metrics.signInAttempts.inc({ outcome: "success" });
    await this.#knownBrowsers.remember(endpoint, user);
  }

  /** Counts and records a wrong password, code or passkey. */
  countFailure(endpoint: Endpoint, { body, statusCode }: APIError): void {
    const { metrics } = this.#context;
    const { path } = endpoint;
    const step = signInSteps[path];
    const { user } = authRequest();
    if (step === undefined || (statusCode !== 401 && body?.code !== "AUTHENTICATION_FAILED")) return;
    metrics.signInAttempts.inc({ outcome: failedOutcomes[step] });
    // Only e-mail addresses of existing accounts: users sometimes type their password into that field.
    if (!user || !isSignIn()) return;
    recordFailedSignIn(this.#context, user, { step, ...(step === "passkey" && refusedPasskey(endpoint)) });
  }

  #findUser(where: { email: string } | { id: string }): Promise<User | null> {
    return authRequest().em.findOne(User, where, { populate: ["organization"], strategy: "joined" });
  }
}

/** Marks a sign-in that still needs a code with the epoch that its user had when the password was checked. */
const withEpoch = (verification: object) =>
  Promise.resolve({ data: { ...verification, epoch: authRequest().user?.epoch ?? null } });

/** Nothing needs the provider's tokens after the sign-in. */
const withoutTokens = () => Promise.resolve({ data: { accessToken: undefined, idToken: undefined } });

const bodyOf = (body: unknown): Record<string, unknown> => (body ?? {}) as Record<string, unknown>;

const locationOf = (returned: unknown): string =>
  isAPIError(returned) ? (new Headers(returned.headers).get("location") ?? "") : "";

const twoFactorKinds: Readonly<Record<string, string>> = {
  "/two-factor/verify-totp": "totp",
  "/two-factor/verify-backup-code": "recovery_code",
};
