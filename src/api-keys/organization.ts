/** The organisation of a new key: live or test. */
import type { EntityManager } from "@mikro-orm/postgresql";
import { modeOf, Organization, testOrganizationOf } from "../organizations/api.ts";
import { AppError, badRequest } from "../core/errors.ts";
import type { GrantorPrincipal, KeyRequest } from "./grant.ts";

/**
 * Returns the new key's organisation (null: operators) and loads it into `em`. Throws NotFoundException for another
 * organisation, BadRequestException for members that don't fit together, and ForbiddenException for a live key asked for by
 * a test key.
 */
export async function resolveOrganization(
  em: EntityManager,
  principal: GrantorPrincipal,
  { organizationId, mode, organizationType }: KeyRequest,
): Promise<string | null> {
  const id = organizationId ?? principal.organizationId;
  if (id === null && mode === "test")
    throw invalidMember("mode", "must be live for an operator's key; name the organisation of a test key");
  if (id === null) return null;
  const isVisible = principal.organizationId === null || principal.organizationId === id;
  const organization = isVisible ? await em.findOne(Organization, { id }) : null;
  if (!organization) throw new AppError("NotFoundException", "There is no such organisation");
  const isTest = (mode ?? modeOf(organization)) === "test";
  if (!isTest && modeOf(organization) === "test")
    throw new AppError(
      "ForbiddenException",
      principal.keyId === null
        ? "In test mode you can create only test keys"
        : "A test key can create only test keys",
    );
  if (isTest) return (await testOrganizationOf(em, organization, organizationType ?? organization.type)).id;
  if (organizationType && organizationType !== organization.type)
    throw invalidMember("organization_type", "is only allowed with mode: test");
  return id;
}

function invalidMember(field: string, message: string): AppError {
  return badRequest([{ location: "body", field, code: "conflict", message }]);
}
