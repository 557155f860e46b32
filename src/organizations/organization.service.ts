/** Creates, lists and finds organisations, for operators. */
import { UniqueConstraintViolationException } from "@mikro-orm/postgresql";
import type { Database, Queryable } from "../platform/postgres/database.ts";
import { AppError } from "../platform/errors.ts";
import { fromTypedId, newUuid } from "../platform/ids.ts";
import type { OrganizationType } from "../platform/principal.ts";
import { sql } from "../platform/postgres/sql.ts";
import { Organization } from "./organization.entity.ts";

export interface OrganizationService {
  /** Throws ConflictException if the name is taken. */
  create(organization: { name: string; type: OrganizationType }): Promise<Organization>;
  list(): Promise<Organization[]>;
  /** By typed id or exact name; null if there is none. */
  find(idOrName: string): Promise<Organization | null>;
  /** As `find`. Throws NotFoundException if there is none, BadRequestException if it has another type. */
  get(idOrName: string, type?: OrganizationType): Promise<Organization>;
}

export function createOrganizationService({ database }: { database: Database }): OrganizationService {
  const find = async (idOrName: string): Promise<Organization | null> => {
    const id = fromTypedId("org", idOrName);
    const em = database.em();
    return (
      (id ? await em.findOne(Organization, { id }) : null) ??
      (await em.findOne(Organization, { name: idOrName }))
    );
  };

  return {
    async create({ name, type }) {
      if (name.trim() === "") throw new AppError("BadRequestException", "The name must not be empty");
      const em = database.em();
      const organization = em.create(Organization, { id: newUuid(), name, type, createdAt: new Date() });
      try {
        await em.persist(organization).flush();
      } catch (error) {
        if (!(error instanceof UniqueConstraintViolationException)) throw error;
        throw new AppError("ConflictException", `An organisation named "${name}" already exists`, {
          cause: error,
        });
      }
      return organization;
    },

    list: () => database.em().find(Organization, {}, { orderBy: { name: "asc" } }),

    find,

    async get(idOrName, type) {
      const organization = await find(idOrName);
      if (!organization) throw new AppError("NotFoundException", `There is no organisation "${idOrName}"`);
      if (type === undefined || organization.type === type) return organization;
      throw new AppError(
        "BadRequestException",
        `"${idOrName}" is ${article[organization.type]}, not ${article[type]}`,
      );
    },
  };
}

/** Inserts an organisation in the caller's transaction. Returns its uuid, or null if the name is taken. */
export async function insertOrganization(
  on: Queryable,
  { name, type }: { name: string; type: OrganizationType },
): Promise<string | null> {
  const [row] = await on.query<{ id: string }>(sql`
    insert into organization (id, name, type) values (${newUuid()}, ${name}, ${type})
    on conflict (name) do nothing returning id`);
  return row?.id ?? null;
}

const article: Record<OrganizationType, string> = { agent: "an agent", contractor: "a contractor" };
