/** Generates one exception class for each error code. */
import type { ApiDocument } from "../client-document.ts";
import { docstring } from "./text.ts";

/** `NotFoundException` becomes `NotFoundError`. */
const className = (code: string): string => `${code.replace(/(Error)?Exception$/, "")}Error`;

export function errorsModule({ schemas }: ApiDocument): string {
  const codes = schemas["ErrorObject"]?.properties?.["code"]?.["x-extensible-enum"] ?? [];
  const classes = codes.map(
    (code) =>
      `class ${className(code)}(ApiError):\n${docstring([`An error with the code \`${code}\`.`], 4)}\n\n    error_code = "${code}"`,
  );
  const names = codes.map(className).toSorted();
  const sections = [
    `"""The class of each error code."""\n\nfrom __future__ import annotations\n\nfrom .._errors import ApiError`,
    ...classes,
    `__all__ = [\n${names.map((name) => `    "${name}",\n`).join("")}]`,
  ];
  return `${sections.join("\n\n\n")}\n`;
}
