/** Output of an organisation as JSON. */
import type { Organization } from "../../organizations/api.ts";
import { toTypedId } from "../../platform/ids.ts";

export function presentOrganization({ id, name, type, suspendedAt, createdAt }: Organization) {
  return { id: toTypedId("org", id), name, type, suspended_at: suspendedAt ?? null, created_at: createdAt };
}
