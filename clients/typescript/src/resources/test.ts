/** Test jobs. Needs a test key, which starts with `wmk_test_`. */
import type {
  DeletedTestData,
  Job,
  JobAssignmentInput,
  JobsInput,
  JobRun,
  JobRunInput,
  Operations,
  SampleEventInput,
  WebhookDelivery,
} from "../generated/api.ts";
import type { ApiCall, ChangeOptions, RequestOptions, Transport } from "../transport.ts";

export class Test {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates jobs whose Marking Numbers start with `TEST-`. By default one, assigned to your test contractor. */
  async createJobs(jobs: JobsInput = {}, options?: ChangeOptions): Promise<Job[]> {
    return (await this.#transport.call("createTestJobs", { body: jobs }, options)).items;
  }

  /** Takes the job away from your test contractor, or assigns it again. */
  async reassignJob(
    markingNumber: string,
    assignment: JobAssignmentInput,
    options?: RequestOptions,
  ): Promise<Job> {
    const request = { path: { markingNumber }, body: assignment };
    return (await this.#transport.call("reassignTestJob", request, options)).job;
  }

  /** Changes the status of a job step by step, along a named path or through statuses of your choice. Returns at once. */
  run(markingNumber: string, run: JobRunInput, options?: RequestOptions): ApiCall<JobRun> {
    return this.#transport.call("startTestRun", { path: { markingNumber }, body: run }, options);
  }

  /** Cancels the run of the job, which keeps its status. Returns the run with the steps that it did not apply. */
  cancelRun(markingNumber: string, options?: RequestOptions): ApiCall<JobRun> {
    return this.#transport.call("cancelTestRun", { path: { markingNumber } }, options);
  }

  /**
   * Sends an event of the type, such as `job.updated`, to each of your active endpoints that receive it. Returns the deliveries.
   * `event` can name the job and one endpoint.
   */
  async sendEvent(
    type: Operations["sendSampleEvent"]["path"]["type"],
    event: SampleEventInput = {},
    options?: ChangeOptions,
  ): Promise<WebhookDelivery[]> {
    return (await this.#transport.call("sendSampleEvent", { path: { type }, body: event }, options)).items;
  }

  /** Deletes all test jobs with their events, deliveries and logged requests. */
  reset(options?: RequestOptions): ApiCall<DeletedTestData> {
    return this.#transport.call("resetTestData", {}, options);
  }
}
