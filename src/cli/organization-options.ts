/** Options that select the organisations whose items a command lists. */
import {
  organizationModes,
  type OrganizationSelection,
  type OrganizationService,
} from "../organizations/api.ts";
import { choice, option } from "./command.ts";

const modes = [...organizationModes, "all"] as const;

interface SelectionOptions {
  org: string | undefined;
  mode: (typeof modes)[number] | undefined;
}

/** `items` completes the descriptions, such as `keys`. */
export const organizationOptions = (items: string) => ({
  org: option("<org>", `only ${items} of this organisation (ID or exact name)`),
  mode: choice("<mode>", `live or test ${items}, or all (default: live)`, modes),
});

/** Throws NotFoundException for an unknown organisation. */
export async function selectionOf(
  organizations: OrganizationService,
  { org, mode = "live" }: SelectionOptions,
): Promise<OrganizationSelection> {
  const organizationId = org === undefined ? undefined : (await organizations.get(org)).id;
  return { organizationId, mode: mode === "all" ? undefined : mode };
}
