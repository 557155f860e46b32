/** The types of the TypeScript client. `npm run typecheck` checks them. */
import { expectTypeOf, it } from "vitest";
import type { Waymark } from "../../../clients/typescript/src/index.ts";

type HasHeaders<Argument> = Argument extends unknown
  ? "headers" extends keyof Argument
    ? true
    : never
  : never;

/** The names of the methods whose arguments have no headers. */
type WithoutHeaders<Resource> = {
  [Name in keyof Resource]: Resource[Name] extends (...args: infer Arguments) => unknown
    ? true extends HasHeaders<NonNullable<Arguments[number]>>
      ? never
      : Name
    : never;
}[keyof Resource];

it("each method takes headers for the call", () => {
  expectTypeOf<{ [Name in keyof Waymark]: WithoutHeaders<Waymark[Name]> }[keyof Waymark]>().toBeNever();
});
