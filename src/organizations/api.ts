/** The exports of this feature: other features and the adapters import only from here. */
export { Organization } from "./organization.entity.ts";
export {
  listOrganizations,
  organizationCursor,
  organizationStatuses,
  readOrganizationCursor,
} from "./organization.queries.ts";
export {
  createOrganizationService,
  insertOrganization,
  type OrganizationService,
} from "./organization.service.ts";
export { User, type UserRole } from "./user.entity.ts";
