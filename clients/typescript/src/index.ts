/** The exports of `@waymark/client`. Nothing here needs Node: tests run it on Deno, on Bun, and in a page and a worker too. */
export { Waymark } from "./client.ts";
export * from "./errors.ts";
export type { CursorStore, EventPage, FollowFrom, FollowOptions, FollowPagesOptions } from "./follow.ts";
export type * from "./generated/api.ts";
export { VERSION } from "./generated/api.ts";
export type { BatchOptions, UpdateOptions } from "./resources/jobs.ts";
export type { ApiCall, ApiResponse, ChangeOptions, ClientOptions, RequestOptions } from "./transport.ts";
export type { UpdateResult, UpdateResults } from "./update-many.ts";
export {
  isJobEvent,
  type JobEvent,
  verifyWebhook,
  WebhookVerificationError,
  type VerifyOptions,
  type WebhookEvent,
  type WebhookHeaders,
} from "./verify-webhook.ts";
