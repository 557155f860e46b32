/** The test event: a webhook that speaks of no job, sent so that an owner sees whether the endpoint takes it. */
import { API_VERSION } from "../../events/api.ts";
import { timestampOf, toTypedId } from "../../platform/ids.ts";

export const TEST_EVENT_TYPE = "webhook.test";

export interface TestEventWire {
  id: string;
  type: typeof TEST_EVENT_TYPE;
  api_version: typeof API_VERSION;
  timestamp: string;
  data: { message: string; endpoint_id: string };
}

const MESSAGE = "This is a test. It speaks of no job, and asks for nothing but an answer of 2xx.";

/**
 * The test event of an id, which is kept alone: the rest follows from it, so that the log can show what was sent. Its time
 * is the id's.
 */
export function buildTestEvent(eventId: string, endpointId: string): TestEventWire {
  return {
    id: toTypedId("evt", eventId),
    type: TEST_EVENT_TYPE,
    api_version: API_VERSION,
    timestamp: timestampOf(eventId),
    data: { message: MESSAGE, endpoint_id: toTypedId("whe", endpointId) },
  };
}
