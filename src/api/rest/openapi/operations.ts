/** Lists the operations of an OpenAPI document. */

export interface DocumentedOperation<Operation> {
  /** In capitals. */
  method: string;
  /** The path template, or the name of a webhook. */
  path: string;
  operation: Operation;
}

/** `items` are the `paths` or `webhooks` of a document. `Operation` names the parts that the caller reads. */
export function operationsOf<Operation>(
  items: Readonly<Record<string, object>> = {},
): DocumentedOperation<Operation>[] {
  return Object.entries(items).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Operation>).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation,
    })),
  );
}
