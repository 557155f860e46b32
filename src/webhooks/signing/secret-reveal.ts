/** Showing an endpoint's secret to a person, who gives their password again for it; the audit log keeps account of it. */
import { type AuditSource, recordAuditEvent } from "../../audit/api.ts";
import type { PasswordService } from "../../accounts/api.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import { AppError, invariant } from "../../platform/errors.ts";
import { fromTypedId } from "../../platform/ids.ts";
import type { WebhookPrincipal } from "../tenant-scope.ts";
import type { EndpointService } from "../endpoints/service.ts";

export interface SecretReveal {
  /**
   * The secret that signs. `id`: typed. Throws BadRequestException where the password is not the person's,
   * TooManyRequestsException after too many wrong ones, NotFoundException, and ConflictException where no secret can be read.
   */
  reveal(person: WebhookPrincipal & AuditSource, request: { id: string; password: string }): Promise<string>;
}

interface SecretRevealDeps {
  database: Queryable;
  endpoints: Pick<EndpointService, "get" | "reveal">;
  passwords: Pick<PasswordService, "verifyPassword">;
}

export function createSecretReveal({ database, endpoints, passwords }: SecretRevealDeps): SecretReveal {
  return {
    async reveal(user, { id, password }) {
      const { actor, address, requestId } = user;
      invariant(actor.type === "user" && actor.id !== null, "a person has a password");
      await passwords.verifyPassword(actor.id, password, "password");
      const endpoint = await endpoints.get(user, id);
      if (endpoint.problem !== null) throw new AppError("ConflictException", endpoint.problem);
      const { secrets } = await endpoints.reveal(user, id);
      const [secret] = secrets;
      invariant(secret, "an endpoint has a secret");
      // Before it leaves us: what cannot be kept account of is not shown.
      await recordAuditEvent(database, {
        action: "endpoint.secret_revealed",
        actor,
        organizationId: fromTypedId("org", endpoint.organizationId),
        subject: endpoint.id,
        address,
        requestId,
      });
      return secret;
    },
  };
}
