/** An organisation as commands show it. */
import type { Organization } from "../organizations/organization.entity.ts";
import { toTypedId } from "../platform/ids.ts";

export function orgDocument({ id, name, type, suspendedAt, createdAt }: Organization) {
  return { id: toTypedId("org", id), name, type, suspended_at: suspendedAt ?? null, created_at: createdAt };
}
