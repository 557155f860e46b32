/** The test event, a webhook without a job that checks an endpoint. */
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

const MESSAGE = "This is a test event without a job. Respond with any 2xx status.";

/** Builds the test event from the stored ids, so that the log can show the exact body. Its timestamp is that of the id. */
export function buildTestEvent(eventId: string, endpointId: string): TestEventWire {
  return {
    id: toTypedId("evt", eventId),
    type: TEST_EVENT_TYPE,
    api_version: API_VERSION,
    timestamp: timestampOf(eventId),
    data: { message: MESSAGE, endpoint_id: toTypedId("whe", endpointId) },
  };
}
