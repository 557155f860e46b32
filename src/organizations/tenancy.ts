/** Tenancy: the MikroORM filter that limits reads to the rows of one organisation. */
import type { EntityManager } from "@mikro-orm/postgresql";

/** An organisation (a uuid), or null for the operators. */
interface TenantScope {
  readonly organizationId: string | null;
}

/**
 * The filter of each entity with an `organization`: only rows of the entity manager's tenant (`forTenant`). Inactive in an
 * entity manager without a tenant.
 */
export const tenantFilter = {
  tenant: {
    name: "tenant",
    cond: (scope: TenantScope | undefined) => (scope ? { organization: scope.organizationId } : {}),
    args: false,
    default: true,
  },
} as const;

/** Limits what `em` reads from now on to the rows of one organisation, or of the operators. Returns `em`. */
export function forTenant(em: EntityManager, { organizationId }: TenantScope): EntityManager {
  em.setFilterParams("tenant", { organizationId });
  return em;
}
