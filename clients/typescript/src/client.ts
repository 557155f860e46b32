/** The client of the API. */
import { Account } from "./resources/account.ts";
import { ApiKeys } from "./resources/api-keys.ts";
import { Events } from "./resources/events.ts";
import { Jobs } from "./resources/jobs.ts";
import { Reference } from "./resources/reference.ts";
import { Test } from "./resources/test.ts";
import { Webhooks } from "./resources/webhooks.ts";
import { Transport, type ClientOptions } from "./transport.ts";

/** A client with one API key. All methods are safe to call at the same time. */
export class Waymark {
  readonly jobs: Jobs;
  readonly events: Events;
  readonly reference: Reference;
  readonly webhooks: Webhooks;
  readonly account: Account;
  readonly apiKeys: ApiKeys;
  readonly test: Test;

  constructor(options: ClientOptions) {
    const transport = new Transport(options);
    this.jobs = new Jobs(transport);
    this.events = new Events(transport);
    this.reference = new Reference(transport);
    this.webhooks = new Webhooks(transport);
    this.account = new Account(transport);
    this.apiKeys = new ApiKeys(transport);
    this.test = new Test(transport);
  }
}
