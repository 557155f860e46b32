/** Turns on test mode for the sessions of an organisation. */
import { changeKeys } from "../../api-keys/api.ts";
import { hasTestOrganizations, Organization, testOrganizationOf } from "../../organizations/api.ts";
import { AppError } from "../../core/errors.ts";
import type { AccountContext } from "../context.ts";
import type { SessionPrincipal } from "./session-principal.ts";

export class TestModeSwitch {
  readonly #context: AccountContext;

  constructor(context: AccountContext) {
    this.#context = context;
  }

  /**
   * Creates the test organisations of the principal's organisation. Idempotent. Throws ForbiddenException for operators, and
   * for members without `keys:manage` if there are none yet.
   */
  async turnOn({ organizationId, scopes }: SessionPrincipal): Promise<void> {
    if (organizationId === null) throw new AppError("ForbiddenException", "Operators have no test mode");
    if (await hasTestOrganizations(this.#context.database, organizationId)) return;
    if (!scopes.includes("keys:manage"))
      throw new AppError(
        "ForbiddenException",
        "Your organisation has no test data yet. Ask an owner to switch to test mode once",
      );
    // Holds the access lock, so that a suspension at the same time covers the test organisations too.
    await changeKeys(this.#context, async ({ em }) => {
      const organization = await em.findOneOrFail(Organization, { id: organizationId });
      await testOrganizationOf(em, organization, organization.type);
    });
  }
}
