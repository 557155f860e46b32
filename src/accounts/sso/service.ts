/** The connections of organisations to their identity providers, and who must use one. */
import { randomBytes, randomUUID } from "node:crypto";
import { Resolver } from "node:dns/promises";
import {
  defineEntity,
  type EntityManager,
  type InferEntity,
  p,
  UniqueConstraintViolationException,
} from "@mikro-orm/postgresql";
import { type AuditEvent, recordAuditEvent } from "../../audit/api.ts";
import { AppError, badRequest, unavailable } from "../../core/errors.ts";
import { isUuid } from "../../core/ids.ts";
import type { Clock } from "../../core/clock.ts";
import type { Database } from "../../core/postgres/database.ts";
import { canOpen, type SecretBox } from "../../core/secret-box.ts";
import { Organization, User } from "../../organizations/api.ts";
import { UserCredential } from "../credential.entity.ts";
import type { MemberAdmin, MemberGroup } from "../members/member-admin.ts";
import { UserSession } from "../sessions/entity.ts";
import { Discovery, DiscoveryError } from "./discovery.ts";
import { callbackPath, type IdentityProvider, OPERATORS, type OperatorSso } from "./provider.ts";

/** An organisation's connection to its own identity provider. At most one per organisation. */
export const SsoConnection = defineEntity({
  name: "SsoConnection",
  tableName: "sso_connection",
  properties: {
    organization: () => p.manyToOne(Organization).primary().deleteRule("cascade"),
    /** The issuer's URL, exactly as its discovery document and ID tokens have it. */
    issuer: p.text(),
    clientId: p.text(),
    /** Sealed by the SecretBox, for the context `sso_connection:ORGANIZATION`. */
    clientSecret: p.text(),
    /** Lower case. Users are found by the domain of their e-mail address. */
    domain: p.text(),
    /** The token of the TXT record that proves the domain. */
    verificationToken: p.text(),
    /** When the domain was proven; null: the connection signs no user in yet. */
    verifiedAt: p.datetime(3).nullable(),
    createdAt: p.datetime(3).defaultRaw("now()"),
    updatedAt: p.datetime(3).defaultRaw("now()"),
  },
  uniques: [{ name: "sso_connection_domain", properties: ["domain"], where: "verified_at is not null" }],
});

export type SsoConnection = InferEntity<typeof SsoConnection>;

const SCOPES = ["openid", "email", "profile"];
const RECORD_PREFIX = "waymark-verification=";

export interface SsoSettings {
  /** Null: operators have no identity provider. */
  readonly operators: OperatorSso | null;
  /** SSO_ONLY: turns off passwords of operators, or with `all` also of users whose e-mail domain has a connection. */
  readonly only: "none" | "operators" | "all";
  /** Allow issuers of organisations with http, loopback and private networks. */
  readonly allowPrivate: boolean;
}

/** Returns the TXT records of a name. Rejects for a name without TXT records. */
export type ResolveTxt = (name: string) => Promise<string[][]>;

export interface SsoDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly secretBox: Pick<SecretBox, "open" | "seal">;
  readonly pageUrl: (path: string) => string;
  readonly ssoSettings: SsoSettings;
  /** Default: DNS. */
  readonly resolveTxt?: ResolveTxt | undefined;
}

interface ConnectionInput extends Pick<SsoConnection, "issuer" | "clientId" | "domain"> {
  /** Absent: the stored one. */
  readonly clientSecret?: string | undefined;
}

/** An owner's view. Without a connection everything but `redirectUri` is null. */
type ConnectionView = ReturnType<typeof toView>;

export class SsoService implements AsyncDisposable {
  readonly #deps: SsoDeps;
  readonly #resolveTxt: ResolveTxt;
  /** Operators choose their own provider, which may be in their network. */
  readonly #discoveries: { readonly operators: Discovery; readonly organizations: Discovery };

  constructor(deps: SsoDeps) {
    this.#deps = deps;
    const resolver = new Resolver({ timeout: 1_500, tries: 2 });
    this.#resolveTxt = deps.resolveTxt ?? ((name) => resolver.resolveTxt(name));
    const { allowPrivate } = deps.ssoSettings;
    this.#discoveries = { operators: new Discovery(true), organizations: new Discovery(allowPrivate) };
  }

  discoveryOf({ organizationId }: MemberGroup): Discovery {
    return organizationId === null ? this.#discoveries.operators : this.#discoveries.organizations;
  }

  /** Null for operators. */
  async view({ organizationId }: MemberGroup): Promise<ConnectionView | null> {
    if (organizationId === null) return null;
    return toView(this.#deps, organizationId, await this.#find({ organization: organizationId }));
  }

  /** Throws BadRequestException for an issuer that can't be used. */
  async checkIssuer(issuer: string): Promise<void> {
    const discovery = this.#discoveries.organizations;
    const verdict = await discovery.guard.checkUrl(issuer);
    if (!verdict.allowed)
      throw invalid("issuer", verdict.problem === "invalid_url" ? "must be a URL" : verdict.message);
    try {
      await discovery.of(issuer);
    } catch (error) {
      if (error instanceof DiscoveryError) throw invalid("issuer", error.message);
      throw error;
    }
  }

  /**
   * Creates or changes the connection. A new domain must be proven again; a new issuer or client ends the sessions that the
   * former one opened. Throws BadRequestException, ConflictException.
   */
  async save(admin: MemberAdmin, input: ConnectionInput): Promise<ConnectionView> {
    const { issuer, clientId, clientSecret, domain } = input;
    return await this.#change(admin, async (em, organizationId, former) => {
      // Otherwise one owner could have the stored secret sent to a server of theirs.
      if (clientSecret === undefined && former?.issuer !== issuer)
        throw invalid("client_secret", "is required for a new issuer");
      const owned = await em.findOne(SsoConnection, { domain, verifiedAt: { $ne: null } });
      if (owned && owned.organization.id !== organizationId) throw domainTakenError(domain);
      const values = { issuer, clientId, domain, updatedAt: new Date() };
      const created = { organization: organizationId, ...values, clientSecret: "", verificationToken: "" };
      const isOther = former && (former.issuer !== issuer || former.clientId !== clientId);
      const ended = isOther ? await endSessions(em, organizationId) : {};
      const isNewDomain = former?.domain !== domain;
      const connection = em.assign(former ?? em.create(SsoConnection, created, { persist: true }), values);
      if (isNewDomain)
        em.assign(connection, { verificationToken: randomBytes(24).toString("base64url"), verifiedAt: null });
      if (clientSecret !== undefined)
        connection.clientSecret = this.#deps.secretBox.seal(clientSecret, sealContext(organizationId));
      const changed = { client_id: clientId, client_secret_changed: clientSecret !== undefined };
      const details = { issuer, domain, ...changed, ...ended };
      return { action: former ? "sso.changed" : "sso.connected", details };
    });
  }

  /** Returns the token that the domain's DNS has, or null. Throws ConflictException without a connection. */
  async readProof(admin: MemberGroup): Promise<string | null> {
    const connection = await this.#find({ organization: organizationOf(admin) });
    if (!connection) throw notConnectedError();
    const records = await this.#resolveTxt(connection.domain).catch(() => []);
    const expected = RECORD_PREFIX + connection.verificationToken;
    return records.some((parts) => parts.join("") === expected) ? connection.verificationToken : null;
  }

  /** `proof`: of `readProof`. Throws ConflictException if it is null or of another domain, or another organisation was first. */
  async verifyDomain(admin: MemberAdmin, proof: string | null): Promise<ConnectionView> {
    return await this.#change(admin, async (_em, _organizationId, connection) => {
      if (!connection) throw notConnectedError();
      const { domain, verificationToken } = connection;
      if (proof !== verificationToken)
        throw new AppError(
          "ConflictException",
          `${domain} has no TXT record ${RECORD_PREFIX}${verificationToken} yet. A new record can take an hour to appear`,
        );
      connection.verifiedAt ??= new Date(this.#deps.clock.now());
      return { action: "sso.changed", details: { domain, domain_verified: true } };
    });
  }

  /** Also removes what links users to it, and ends the sessions that it opened. */
  async remove(admin: MemberAdmin): Promise<ConnectionView> {
    return await this.#change(admin, async (em, organizationId, connection) => {
      if (!connection) throw notConnectedError();
      const { issuer, domain } = connection;
      await em.nativeDelete(UserCredential, { providerId: organizationId });
      em.remove(connection);
      const details = { issuer, domain, ...(await endSessions(em, organizationId)) };
      return { action: "sso.removed", details };
    });
  }

  /** The provider with this id, if its domain is proven. */
  async findById(id: string): Promise<IdentityProvider | null> {
    if (id !== OPERATORS) return isUuid(id) ? await this.#provider({ organization: id }) : null;
    const { operators } = this.#deps.ssoSettings;
    return operators && { ...operators, id, organizationId: null, domain: null };
  }

  /** The provider of an e-mail address by its domain, if the domain is proven. */
  findByEmail(email: string): Promise<IdentityProvider | null> {
    return this.#provider({ domain: domainOf(email) });
  }

  /** True if the user's password must not be used (SSO_ONLY). */
  async isRequiredFor({ email, organization, passwordAllowedUntil }: User): Promise<boolean> {
    const { ssoSettings: sso, clock } = this.#deps;
    if (sso.only === "none" || (passwordAllowedUntil && passwordAllowedUntil.getTime() > clock.now()))
      return false;
    return (await this.offerTo(email, organization?.id ?? null)) === "required";
  }

  /** `offered`: a user of the group can sign in with its identity provider; `required`: only so (SSO_ONLY). */
  async offerTo(email: string, organizationId: string | null): Promise<"offered" | "required" | null> {
    const { operators, only } = this.#deps.ssoSettings;
    if (organizationId === null) return operators && (only === "none" ? "offered" : "required");
    const connection = await this.#find({ organization: organizationId, verifiedAt: { $ne: null } });
    if (connection?.domain !== domainOf(email)) return null;
    return only === "all" ? "required" : "offered";
  }

  /** The providers that the sign-in page offers. */
  async offered(): Promise<{ operators: boolean; organizations: boolean }> {
    const { ssoSettings: sso } = this.#deps;
    const connection = await this.#find({ verifiedAt: { $ne: null } });
    return { operators: sso.operators !== null, organizations: connection !== null };
  }

  async #provider(where: { organization: string } | { domain: string }): Promise<IdentityProvider | null> {
    const connection = await this.#find({ ...where, verifiedAt: { $ne: null } });
    if (!connection) return null;
    const { issuer, clientId, domain } = connection;
    const { id } = connection.organization;
    const { secretBox } = this.#deps;
    const secret = { sealed: connection.clientSecret, context: sealContext(id) };
    // WAYMARK_SECRET was replaced.
    if (!canOpen(secretBox, secret))
      throw unavailable("An owner must enter the client secret of your single sign-on again", 3_600);
    const clientSecret = secretBox.open(secret.sealed, secret.context);
    const client = { issuer, clientId, clientSecret, scopes: SCOPES, requiredClaim: null };
    return { ...client, id, organizationId: id, domain };
  }

  #find(where: object): Promise<SsoConnection | null> {
    return this.#deps.database.em().findOne(SsoConnection, where);
  }

  async #change(
    admin: MemberAdmin,
    change: (
      em: EntityManager,
      organizationId: string,
      connection: SsoConnection | null,
    ) => Promise<Pick<AuditEvent, "action" | "details">>,
  ): Promise<ConnectionView> {
    const organizationId = organizationOf(admin);
    try {
      return await this.#deps.database.transactional(async (em) => {
        const find = () => em.findOne(SsoConnection, { organization: organizationId });
        const event = await change(em, organizationId, await find());
        await em.flush();
        await recordAuditEvent(em, { ...admin, ...event, organizationId });
        return toView(this.#deps, organizationId, await find());
      });
    } catch (error) {
      if (error instanceof UniqueConstraintViolationException) throw domainTakenError("This domain");
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const discovery of Object.values(this.#discoveries)) await discovery[Symbol.asyncDispose]();
  }
}

function toView({ pageUrl }: SsoDeps, organizationId: string, connection: SsoConnection | null) {
  const redirectUri = pageUrl(callbackPath(organizationId));
  const { issuer = null, clientId = null, domain = null } = connection ?? {};
  const verificationRecord = connection && RECORD_PREFIX + connection.verificationToken;
  const verifiedAt = connection?.verifiedAt?.toISOString() ?? null;
  return { redirectUri, issuer, clientId, domain, verificationRecord, verifiedAt };
}

/**
 * Ends the sessions that the organisation's provider opened, and sign-ins in progress: its users get a new epoch, and so do their other
 * sessions. Returns the number of sessions for the audit log.
 */
async function endSessions(em: EntityManager, organizationId: string): Promise<{ sessions_ended: number }> {
  const users = { organization: organizationId };
  const epoch = randomUUID();
  for (const session of await em.find(UserSession, { user: users }, { populate: ["user"] }))
    if (session.epoch === session.user.epoch) session.epoch = epoch;
  await em.flush();
  await em.nativeUpdate(User, users, { epoch });
  return { sessions_ended: await em.nativeDelete(UserSession, { provider: organizationId, user: users }) };
}

export const domainOf = (email: string): string => email.slice(email.lastIndexOf("@") + 1);

const sealContext = (organizationId: string): string => `sso_connection:${organizationId}`;

function organizationOf({ organizationId }: MemberGroup): string {
  if (organizationId !== null) return organizationId;
  throw new AppError("ConflictException", "Single sign-on of operators is set with OIDC_ISSUER");
}

function invalid(field: string, message: string): AppError {
  return badRequest([{ location: "body", field, code: "invalid_value", message }]);
}

function notConnectedError(): AppError {
  return new AppError("ConflictException", "Your organisation has no single sign-on yet");
}

function domainTakenError(domain: string): AppError {
  return new AppError(
    "ConflictException",
    `${domain} belongs to another organisation, which has proven it. Ask the operators if it is yours`,
  );
}
