/** Converts field names between REST (`recipient_name`) and GraphQL (`recipientName`). */

export function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Converts `jobs[3].piece_quantity` to `jobs.3.pieceQuantity`. */
export function camelCasePath(path: string): string {
  return camelCase(path.replaceAll(/\[(\d+)\]/g, ".$1"));
}
