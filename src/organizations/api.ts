/** The exports of this feature: other features and the adapters import only from here. */
export { Organization } from "./entity.ts";
export { listOrganizations, organizationCursor } from "./list.sql.ts";
export { insertOrganization, organizationsByIds, OrganizationService } from "./service.ts";
export {
  hasTestOrganizations,
  modeOf,
  type OrganizationMode,
  organizationModes,
  partnerIdOf,
  type OrganizationSelection,
  selectedOrganizations,
  testNameOf,
  testOrganizationOf,
} from "./test-organization.ts";
export { forTenant, tenantFilter } from "./tenancy.ts";
export { User, type UserRole, userRoles } from "./user.entity.ts";
