/** Actions of webhook endpoints as requests to REST and to GraphQL. */
import type { ParityAction } from "../app/parity.ts";
import type { WebhookFixture } from "./webhook-parity.fixture.ts";

export type WebhookAction = ParityAction<WebhookFixture>;
type SetUp = WebhookAction["setUp"];

export const ENDPOINT_FIELDS = `id url description eventTypes headers { name value } maxInFlight perSecond status disabledReason
  statusSince blockedUntil isCircuitOpen failingSince pending problem secretCreatedAt previousSecretsExpireAt createdBy
  createdAt updatedAt`;
export const DELIVERY_FIELDS = `id endpointId eventId eventType markingNumber origin status attemptCount outcome nextAttemptAt
  isInFlight createdAt finishedAt`;
export const DELIVERY_DETAIL_FIELDS = `${DELIVERY_FIELDS} requestBody attempts { id number startedAt durationMs outcome
  httpStatus error requestHeaders { name value } responseHeaders { name value } responseBody }`;
export const USER_ERRORS = "userErrors { code field message }";
const PAYLOAD = `endpoint { ${ENDPOINT_FIELDS} }`;

/** `settings` in the form of REST; `input` in that of GraphQL. */
export function createEndpoint(setUp: SetUp, settings: object, input: object): WebhookAction {
  return {
    setUp,
    rest: () => ({ method: "POST", path: "/v1/webhook-endpoints", body: settings }),
    graphql: () => ({
      document: `mutation ($input: CreateWebhookEndpointInput!) {
        createWebhookEndpoint(input: $input) { ${PAYLOAD} secret ${USER_ERRORS} } }`,
      variables: { input },
    }),
  };
}

export function updateEndpoint(setUp: SetUp, patch: object, graphqlPatch: object): WebhookAction {
  return {
    setUp,
    rest: ({ endpoint }) => ({ method: "PATCH", path: `/v1/webhook-endpoints/${endpoint}`, body: patch }),
    graphql: ({ endpoint: id }) => ({
      document: `mutation ($id: ID!, $patch: WebhookEndpointPatch!) {
        updateWebhookEndpoint(id: $id, patch: $patch) { ${PAYLOAD} ${USER_ERRORS} } }`,
      variables: { id, patch: graphqlPatch },
    }),
  };
}

/** `field`: the field of `Mutation`; `id`: its argument with the endpoint's ID, and further ones. */
interface MutationField {
  field: string;
  id?: string;
  payload?: string;
  args?: string;
}

function act(
  setUp: SetUp,
  { method = "POST", path, body }: { method?: string; path: string; body?: object },
  { field, id = "id", args = "", payload = PAYLOAD }: MutationField,
): WebhookAction {
  return {
    setUp,
    rest: ({ endpoint }) => ({ method, path: `/v1/webhook-endpoints/${endpoint}${path}`, body }),
    graphql: ({ endpoint }) => ({
      document: `mutation ($id: ID!) { ${field}(${id}: $id${args}) { ${payload} ${USER_ERRORS} } }`,
      variables: { id: endpoint },
    }),
  };
}

export const remove = (setUp: SetUp): WebhookAction =>
  act(
    setUp,
    { method: "DELETE", path: "" },
    { field: "deleteWebhookEndpoint", payload: "deletedId discarded" },
  );

export const rotate = (setUp: SetUp): WebhookAction =>
  act(setUp, { path: "/rotate-secret" }, { field: "rotateWebhookSecret", payload: `${PAYLOAD} secret` });

export const pause = (setUp: SetUp): WebhookAction =>
  act(setUp, { path: "/pause" }, { field: "pauseWebhookEndpoint" });

/** By default without a body, and without arguments. */
export function resume(setUp: SetUp, body?: object, args = ""): WebhookAction {
  const payload = `${PAYLOAD} discarded`;
  const request = { path: "/resume", ...(body && { body }) };
  return act(setUp, request, { field: "resumeWebhookEndpoint", args, payload });
}

export const sendTest = (setUp: SetUp): WebhookAction =>
  act(
    setUp,
    { path: "/test" },
    { field: "sendTestEvent", id: "endpointId", payload: `delivery { ${DELIVERY_DETAIL_FIELDS} }` },
  );
