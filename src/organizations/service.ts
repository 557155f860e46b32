/** Creates, lists and finds organisations, for operators. */
import type { EntityManager, QueryResult } from "@mikro-orm/postgresql";
import type { Database, Reader } from "../core/postgres/database.ts";
import { AppError } from "../core/errors.ts";
import { fromTypedId, newUuid } from "../core/ids.ts";
import type { OrganizationType } from "../core/principal.ts";
import { Organization } from "./entity.ts";

export class OrganizationService {
  readonly #database: Database;

  constructor({ database }: { database: Database }) {
    this.#database = database;
  }

  /** Throws ConflictException if the name is taken, BadRequestException if it is empty. */
  async create({ name, type }: { name: string; type: OrganizationType }): Promise<Organization> {
    if (name.trim() === "") throw new AppError("BadRequestException", "The name must not be empty");
    const em = this.#database.em();
    const id = await insertOrganization(em, { name, type });
    if (id === null)
      throw new AppError("ConflictException", `An organisation named "${name}" already exists`);
    return await em.findOneOrFail(Organization, { id });
  }

  /** Live organisations only. */
  list(): Promise<Organization[]> {
    return this.#database.em().find(Organization, { liveOrganization: null }, { orderBy: { name: "asc" } });
  }

  /** A live organisation by typed id or exact name; null if there is none. */
  async find(idOrName: string): Promise<Organization | null> {
    const id = fromTypedId("org", idOrName);
    const em = this.#database.em();
    return (
      (id ? await em.findOne(Organization, { id, liveOrganization: null }) : null) ??
      (await em.findOne(Organization, { name: idOrName, liveOrganization: null }))
    );
  }

  /** As `find`. Throws NotFoundException if there is none, BadRequestException if it has another type. */
  async get(idOrName: string, type?: OrganizationType): Promise<Organization> {
    const organization = await this.find(idOrName);
    if (!organization)
      throw new AppError("NotFoundException", `There is no organisation "${idOrName}"`, {
        resource: "org",
      });
    if (type === undefined || organization.type === type) return organization;
    throw new AppError(
      "BadRequestException",
      `"${idOrName}" is ${article[organization.type]}, not ${article[type]}`,
    );
  }
}

/** Inserts a live organisation in the caller's transaction. Returns its uuid, or null if the name is taken. */
export async function insertOrganization(
  em: EntityManager,
  organization: { name: string; type: OrganizationType },
): Promise<string | null> {
  const id = newUuid();
  const insert = em.createQueryBuilder(Organization).insert({ id, ...organization });
  const { affectedRows } = await insert.onConflict().ignore().execute<QueryResult>("run");
  return affectedRows > 0 ? id : null;
}

/** Returns the existing organisations of `ids` (uuids), in no particular order. The caller must check the access. */
export function organizationsByIds(reader: Reader, ids: readonly string[]): Promise<Organization[]> {
  return reader.em().find(Organization, { id: { $in: [...ids] } });
}

const article: Record<OrganizationType, string> = { agent: "an agent", contractor: "a contractor" };
