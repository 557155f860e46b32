/** Runs an operation for any interface: at most once if the request has an Idempotency-Key. */
import type { Transaction } from "../core/postgres/transaction.ts";
import type { FirstResponse, IdempotencyService, KeyedRequest, StoredResponse } from "../idempotency/api.ts";
import { admit, type Call } from "./admit.ts";
import type { Answer, Operation } from "./operation.ts";

export interface KeyedCall<Services> extends Omit<Call<Services>, "tx"> {
  readonly services: Call<Services>["services"] & { readonly idempotency: IdempotencyService };
  /** Null without an Idempotency-Key. */
  readonly keyed: KeyedRequest | null;
}

/**
 * Returns the response to the answer, or the stored response of an earlier request with the key. Throws as `admit` and as `runOnce`
 * of the idempotency service.
 */
export async function execute<Services, Response extends FirstResponse>(
  operation: Operation<Services>,
  { keyed, ...call }: KeyedCall<Services>,
  toResponse: (answer: Answer<unknown>) => Response,
): Promise<Response | StoredResponse> {
  const { idempotency } = call.services;
  // Preparing can take long, so it runs before the transaction, and not for a repeated request.
  const replay = keyed && operation.prepare ? await idempotency.findReplay(keyed) : null;
  if (replay) return replay;
  const prepared = operation.prepare && (await admit(operation, call));
  return await idempotency.runOnce(keyed, async (tx?: Transaction) => {
    const change = prepared ?? (await admit(operation, { ...call, tx }));
    return toResponse(await change(tx));
  });
}
