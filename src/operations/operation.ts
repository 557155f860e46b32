/**
 * An operation is a capability of the API, declared once in its feature. REST, OpenAPI and GraphQL are bound from the declarations,
 * and `admit` applies their rules in each of them.
 */
import { z } from "zod";
import type { Scope } from "../api-keys/api.ts";
import type { ErrorCode, Problem } from "../core/errors.ts";
import type { AuthenticatedActor } from "../core/fresh-authentication.ts";
import type { Transaction } from "../core/postgres/transaction.ts";
import type { Principal } from "../core/principal.ts";
import type { UserRole } from "../organizations/api.ts";
import type { RateLimitClass, RateLimitOverrides } from "../rate-limits/api.ts";
import { none } from "./schemas.ts";

/** The principal of a request, with the data that the audit log records. */
export type RequestPrincipal = Principal &
  AuthenticatedActor & {
    /** Null for a signed-in user. */
    readonly keyId: string | null;
    readonly scopes: readonly Scope[];
    /** Null: the limits of the service apply. */
    readonly rateLimits: RateLimitOverrides | null;
    readonly requestId: string;
    readonly ipAddress: string | null;
    /** A UUID; absent for a key. */
    readonly sessionId?: string;
    /** Absent for a key. */
    readonly user?: { readonly role: UserRole };
  };

export interface Access {
  /** All of them are needed. */
  readonly scopes: readonly Scope[];
  readonly role?: Role;
  /** `test`: only for principals of a test organisation; REST hides the path from live keys. `live`: not for them. */
  readonly mode?: "test" | "live";
  /** Scopes that the given input needs in addition. */
  readonly scopesFor?: (input: Readonly<Record<string, unknown>>) => readonly Scope[];
}

/**
 * The role that an operation needs. Without one, any key or user may use it. A list: a signed-in user with one of these roles.
 * `operator`: an operator, by session or by key.
 */
export type Role = readonly UserRole[] | "operator";

/** The members of a principal that its access depends on. */
export type AccessSubject = Principal & Pick<RequestPrincipal, "keyId" | "scopes" | "user">;

/** The access of a root field of GraphQL: the same for every principal, or by its kind. */
export type ReadAccess = Access | ((principal: AccessSubject) => Access);

export const anyone: Access = { scopes: [] };
export const owner: Access = { role: ["owner", "operator"], mode: "live", scopes: [] };
/** An operator that may manage organisations, mails and requests. */
export const administrator: Access = { role: "operator", scopes: ["webhooks:manage"] };

export interface Execution<Prepared = unknown> {
  /** Set if the change and the response to its Idempotency-Key commit together: the run must use no other connection. */
  readonly tx?: Transaction | undefined;
  readonly prepared: Prepared;
  /** The organisation that an operator acts for (UUID); null if the request names none. */
  readonly organizationId: string | null;
  /** Runs a request to another server. The request does not count as in flight meanwhile, and lends its partner's share. */
  readonly external: <Value>(call: () => Promise<Value>) => Promise<Value>;
}

/** A result with facts that its data does not contain. */
export class Answer<Data> {
  readonly data: Data;
  /** The version of the data, which is the ETag in REST. */
  readonly version: number | null;
  /** The names in the body that have no effect. */
  readonly ignored: readonly string[];
  /** False if nothing was changed: a repeated request with its Idempotency-Key runs again. */
  readonly changed: boolean;

  constructor(
    data: Data,
    { version = null, ignored = [], changed = true }: Partial<Omit<Answer<Data>, "data">> = {},
  ) {
    this.data = data;
    this.version = version;
    this.ignored = ignored;
    this.changed = changed;
  }
}

/** The documentation in OpenAPI. Examples have the names of the input and output. */
export interface OperationText {
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** The data of a success, and examples of it by their summary. */
  readonly result: {
    /** The component of the response, if it is not that of the output. */
    readonly name?: string;
    readonly description: string;
    readonly examples: Readonly<Record<string, unknown>>;
  };
  /** Present if there is a body. */
  readonly body?: {
    readonly description: string;
    readonly examples: Readonly<Record<string, { readonly summary: string; readonly value: object }>>;
    readonly isOptional?: boolean;
    /** The schema, if the input checks less. In REST's names. */
    readonly schema?: z.ZodType;
  };
  /** Examples of requests with problems. */
  readonly malformed?: readonly {
    readonly summary: string;
    readonly problems?: readonly Problem[];
    /** Default: the first problem as a sentence. */
    readonly message?: string;
  }[];
  /** Errors that the other attributes don't imply. */
  readonly errors?: readonly ErrorCode[];
  /** Replaces the documentation of an error. */
  readonly ownErrors?: Partial<Record<ErrorCode, OwnErrorText>>;
}

export interface OwnErrorText {
  readonly description: string;
  readonly examples: readonly {
    readonly summary: string;
    readonly message: string;
    readonly details?: { readonly limit: number } | { readonly ends_at: string } | null;
  }[];
}

export interface Operation<
  Services,
  Params extends z.ZodObject = z.ZodObject,
  Input extends z.ZodObject = z.ZodObject,
  Result = unknown,
  Prepared = unknown,
> {
  /** OpenAPI's `operationId`. */
  readonly name: string;
  readonly graphql?: GraphqlBinding | null;
  readonly access: Access;
  /**
   * True if a session needs a recent sign-in, or a function that says so for an input. `service`: the service decides, because it
   * depends on stored data.
   */
  readonly fresh: boolean | "service" | ((input: Partial<z.output<Input>>) => boolean);
  /** The members that select the object. In REST they are the parts of the path. */
  readonly params: Params;
  /** The members of the body, or the parameters of the query. In camelCase; REST has them in snake_case. */
  readonly input: Input;
  /**
   * Slow work before the transaction, such as DNS. Throws BadRequestException with the problems that the schema can't find; of an
   * invalid input it gets the valid members, so that one response has all problems.
   */
  prepare?(
    services: Services,
    principal: RequestPrincipal,
    input: Partial<z.output<Input>> & z.output<Params>,
    execution: Pick<Execution, "external" | "organizationId">,
  ): Promise<Prepared>;
  /** Of an invalid input: the problems that `run` would find in its valid members, so that one response has all problems. */
  problems?(
    services: Services,
    input: Partial<z.output<Input>> & z.output<Params>,
    tx?: Transaction,
  ): Promise<readonly Problem[]>;
  run(
    services: Services,
    principal: RequestPrincipal,
    input: z.output<Input> & z.output<Params>,
    execution: Execution<Prepared>,
  ): Promise<Result | Answer<Result>>;
}

/** Differences of the mutation from the declaration. Null: the mutation of this name has a resolver of its own. */
export interface GraphqlBinding {
  readonly field?: string;
  /** Its arguments that have another name than the input. */
  readonly args?: Readonly<Record<string, string>>;
  /** The member of the input that errors without problems name. Default: the one that selects the object. */
  readonly subject?: string;
}

export interface RestOperation<
  Services,
  Params extends z.ZodObject = z.ZodObject,
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodType = z.ZodType,
  Result extends z.output<Output> = z.output<Output>,
  Prepared = unknown,
> extends Operation<Services, Params, Input, Result, Prepared> {
  readonly rest: {
    readonly method: "get" | "post" | "patch" | "delete";
    readonly path: string;
    /** The status of a success. Default: 200. */
    readonly status?: 201 | 202;
    /** The parts of the request that are members of the input. Default: the query of `get` and `delete`, or the members of the body. */
    readonly places?: Readonly<Record<string, InputPlace>>;
    /** Default: 64 KiB. */
    readonly maxBodyBytes?: number;
    /** The problem of a request with If-Match. By default the header is ignored. */
    readonly ifMatchProblem?: string;
  };
  readonly rate: RateLimitClass;
  /** Present if it takes an Idempotency-Key. `secrets`: members of the output that are never stored. */
  readonly once?: { readonly secrets?: readonly string[] };
  /** True if its answers have a version: REST returns it as ETag, and 304 if a `get` has a matching If-None-Match. */
  readonly versioned?: boolean;
  /** The data of a response of REST, in camelCase. The result may have further members. */
  readonly output: Output;
  readonly text: OperationText;
}

/** `body`: the whole body, in REST's names. `If-Match`: the versions in the header, as numbers; undefined for any. */
export type InputPlace = "body" | "query" | "If-Match";

/** True if the input is the query of the URL. */
export function takesQuery({ method }: RestOperation<never>["rest"]): boolean {
  return method === "get" || method === "delete";
}

/** True if it changes nothing. It ignores unknown parameters, which are problems of a change: one could be a misspelt `dry_run`. */
export function isRead({ rate }: Pick<RestOperation<never>, "rate">): boolean {
  return rate === "read";
}

/** Returns the name of the operation's route, such as `PATCH /v1/jobs/batch`. */
export function routeOf({ rest: { method, path } }: Pick<RestOperation<never>, "rest">): string {
  return `${method.toUpperCase()} /v1${path}`;
}

/** Returns the field of GraphQL that the operation has, if the SDL has that field. */
export function mutationOf({ graphql, name }: Pick<Operation<never>, "graphql" | "name">): string {
  return graphql?.field ?? name;
}

/** Returns the schema of the query; null if no member of the input comes from there. */
export function queryOf({ rest, input }: RestOperation<never>): z.ZodObject | null {
  const otherwise = takesQuery(rest) ? "query" : "body";
  const members = Object.entries(input.shape).filter(
    ([name]) => (rest.places?.[name] ?? otherwise) === "query",
  );
  return members.length > 0 ? z.object(Object.fromEntries(members)) : null;
}

/** Returns the schema of the body's members: those of the input that come from no other part of the request. */
export function bodyOf({ rest: { places = {} }, input }: RestOperation<never>): z.ZodObject {
  const elsewhere = Object.keys(places);
  if (elsewhere.length === 0) return input;
  const members = Object.entries(input.shape).filter(([name]) => !elsewhere.includes(name));
  return z.object(Object.fromEntries(members)).meta(input.meta() ?? {});
}

/** Returns the member of the input that comes from a part of the request, if there is one. */
export function memberFrom(
  place: InputPlace,
  { places = {} }: RestOperation<never>["rest"],
): string | undefined {
  return Object.keys(places).find((name) => places[name] === place);
}

/** True if the output is a page of a list. */
export function isPage({ output }: Pick<RestOperation<never>, "output">): boolean {
  return output instanceof z.ZodObject && "pagination" in output.shape;
}

type None = typeof none;

/** Without `params` or `input`, an operation takes none. */
type Declared<Whole> = Partial<Whole> & Omit<Whole, "params" | "input">;

/** Returns the operation, whose types follow from its schemas. */
export function restOperation<
  Services,
  Output extends z.ZodType,
  Result extends z.output<Output>,
  Params extends z.ZodObject = None,
  Input extends z.ZodObject = None,
  Prepared = undefined,
>(declaration: Declared<RestOperation<Services, Params, Input, Output, Result, Prepared>>) {
  type Whole = RestOperation<Services, Params, Input, Output, Result, Prepared>;
  return { params: none, input: none, ...declaration } as Whole;
}

/** As `restOperation`, of an operation that only the console needs: it is a mutation, without a route in REST. */
export function operation<
  Services,
  Result,
  Params extends z.ZodObject = None,
  Input extends z.ZodObject = None,
  Prepared = undefined,
>(declaration: Declared<Operation<Services, Params, Input, Result, Prepared>>) {
  type Whole = Operation<Services, Params, Input, Result, Prepared>;
  return { params: none, input: none, ...declaration } as Whole;
}
