/**
 * Test organisations. A live organisation has two, one of each type, so that a partner can see both sides of a test job. They
 * are created when the first test key is, or when a user turns on test mode in the console.
 */
import type { EntityManager, FilterQuery } from "@mikro-orm/postgresql";
import { invariant } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import type { Reader } from "../core/postgres/database.ts";
import { type OrganizationType, organizationTypes } from "../core/principal.ts";
import { Organization } from "./entity.ts";

/** Test data changes nothing that is real. */
export const organizationModes = ["live", "test"] as const;
export type OrganizationMode = (typeof organizationModes)[number];

export function modeOf({ liveOrganization }: Pick<Organization, "liveOrganization">): OrganizationMode {
  return liveOrganization ? "test" : "live";
}

/** Both members are optional. `organizationId`: the uuid of a live organisation, which selects it and its test organisations. */
export interface OrganizationSelection {
  organizationId?: string | undefined;
  mode?: OrganizationMode | undefined;
}

export function selectedOrganizations({
  organizationId: id,
  mode,
}: OrganizationSelection): FilterQuery<Organization> {
  if (mode === "test") return { liveOrganization: id ?? { $ne: null } };
  if (mode === "live") return { liveOrganization: null, ...(id !== undefined && { id }) };
  return id === undefined ? {} : { $or: [{ id }, { liveOrganization: id }] };
}

/**
 * Returns the test organisation of `type` that belongs to the same live organisation as `organization`. The first call creates
 * both: call it in a transaction that holds the access lock, so that a suspension at the same time covers it too.
 */
export async function testOrganizationOf(
  em: EntityManager,
  organization: Organization,
  type: OrganizationType,
): Promise<Organization> {
  const live = organization.liveOrganization
    ? await em.findOneOrFail(Organization, { id: organization.liveOrganization })
    : organization;
  const existing = await em.findOne(Organization, { liveOrganization: live.id, type });
  if (existing) return existing;
  invariant(em.isInTransaction(), "a test organisation is created in a transaction");
  const created = organizationTypes.map((each) =>
    em.create(Organization, {
      id: newUuid(),
      name: testNameOf(live, each),
      type: each,
      suspendedAt: live.suspendedAt,
      timeZone: live.timeZone,
      liveOrganization: live.id,
      createdAt: new Date(),
    }),
  );
  await em.persist(created).flush();
  return created.find((each) => each.type === type) as Organization;
}

export function testNameOf(live: Pick<Organization, "name" | "type">, type: OrganizationType): string {
  return live.type === type ? live.name : `Test ${type} of ${live.name}`;
}

/** Returns the UUID of the partner of an organisation: its live organisation, or itself. */
export const partnerIdOf = ({ id, liveOrganization }: Organization): string => liveOrganization ?? id;

/** True if the test organisations of a live one (a uuid) exist. */
export async function hasTestOrganizations(reader: Reader, liveOrganizationId: string): Promise<boolean> {
  return (await reader.em().count(Organization, { liveOrganization: liveOrganizationId })) > 0;
}
