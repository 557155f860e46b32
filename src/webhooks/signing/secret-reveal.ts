/** Shows an endpoint's secret to a user who re-enters their password, and records that in the audit log. */
import { type AuditSource, recordAuditEvent } from "../../audit/api.ts";
import type { PasswordService } from "../../accounts/api.ts";
import type { Reader } from "../../core/postgres/database.ts";
import { AppError, invariant } from "../../core/errors.ts";
import { fromTypedId } from "../../core/ids.ts";
import type { WebhookPrincipal } from "../webhook-principal.ts";
import type { EndpointService } from "../endpoints/service.ts";

export interface SecretReveal {
  /**
   * Returns the current secret. `id` is a typed id. Throws BadRequestException for a wrong password, TooManyRequestsException
   * after too many of them, NotFoundException, and ConflictException if the secret cannot be decrypted.
   */
  reveal(user: WebhookPrincipal & AuditSource, request: { id: string; password: string }): Promise<string>;
}

interface SecretRevealDeps {
  database: Reader;
  endpoints: Pick<EndpointService, "get" | "reveal">;
  passwords: Pick<PasswordService, "verifyPassword">;
}

export function createSecretReveal({ database, endpoints, passwords }: SecretRevealDeps): SecretReveal {
  return {
    async reveal(user, { id, password }) {
      const { actor, ipAddress, requestId } = user;
      invariant(actor.type === "user" && actor.id !== null, "only users have a password");
      await passwords.verifyPassword(actor.id, password, "password");
      const endpoint = await endpoints.get(user, id);
      if (endpoint.problem !== null) throw new AppError("ConflictException", endpoint.problem);
      const { secrets } = await endpoints.reveal(user, id);
      const [secret] = secrets;
      invariant(secret, "an endpoint has a secret");
      // Recorded first: a secret is not shown if that cannot be recorded.
      await recordAuditEvent(database, {
        action: "endpoint.secret_revealed",
        actor,
        organizationId: fromTypedId("org", endpoint.organizationId),
        subject: endpoint.id,
        ipAddress,
        requestId,
      });
      return secret;
    },
  };
}
