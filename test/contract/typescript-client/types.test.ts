/** The types of the TypeScript client. `npm run typecheck` checks them. */
import { expectTypeOf, it } from "vitest";
import type {
  FailureReasonCode,
  Operations,
  StatusCode,
  ApiCall,
  Job,
  Problem,
  UpdateResult,
  Waymark,
  WebhookDelivery,
  WebhookDeliveryDetail,
} from "../../../clients/typescript/src/index.ts";

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

it("updateMany and updateBatch have results of one type, a union over success", () => {
  type Batch = ReturnType<Waymark["jobs"]["updateBatch"]> extends ApiCall<infer Data> ? Data : never;
  type Many = ReturnType<Waymark["jobs"]["updateMany"]>;
  expectTypeOf<Batch>().toHaveProperty("results").toEqualTypeOf<UpdateResult[]>();
  expectTypeOf<Many>().toEqualTypeOf<AsyncGenerator<UpdateResult, void, void>>();
  expectTypeOf<Extract<UpdateResult, { success: true }>["job"]>().toEqualTypeOf<Job>();
  expectTypeOf<Extract<UpdateResult, { success: false }>["error_details"]>().toEqualTypeOf<
    Problem[] | null
  >();
});

it("a delivery with its attempts is a WebhookDelivery", () => {
  expectTypeOf<WebhookDeliveryDetail>().toExtend<WebhookDelivery>();
});

it("statuses and failure reasons have the known codes, and accept any other", () => {
  expectTypeOf<"completed" | "on_hold" | (string & {})>().toExtend<StatusCode>();
  // Editors complete the literals of the union.
  expectTypeOf<Extract<StatusCode, "out_for_delivery" | "partially_completed">>().toEqualTypeOf<
    "out_for_delivery" | "partially_completed"
  >();
  expectTypeOf<Extract<FailureReasonCode, "parcel_lost">>().toEqualTypeOf<"parcel_lost">();
  expectTypeOf<Job["normalized_status"]>().toEqualTypeOf<StatusCode>();
  expectTypeOf<Job["failure_reason"]>().toEqualTypeOf<FailureReasonCode | null>();
  expectTypeOf<Operations["listJobs"]["query"]["normalized_status"]>().toEqualTypeOf<
    StatusCode | readonly StatusCode[] | undefined
  >();
  expectTypeOf<string>().toExtend<StatusCode>();
});
