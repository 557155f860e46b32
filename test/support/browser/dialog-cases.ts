/** Every dialog that has input or changes something. */
import type { Locator, Page } from "playwright-core";

/** The data in the paths of the cases. */
export interface DialogData {
  /** Typed IDs. */
  endpoint: string;
  request: string;
  markingNumber: string;
}

export interface DialogCase {
  user: "owner" | "operator";
  path: string | ((data: DialogData) => string);
  /** The buttons and menu items to press, in order. The first one opens the dialog or its menu. */
  open: readonly RegExp[];
  title: RegExp;
  /** Changes the input. Undefined if the dialog has no input. */
  fill?: (dialog: Locator, page: Page) => Promise<void>;
  /** The label of the button, and the operation that it sends. */
  action: string;
  request: string;
  /** The response shows a secret, or closes the dialog. */
  after: { secret: RegExp; done: string } | "closed";
}

let texts = 0;

/** Replaces # by a new number on each call, because an unchanged value would be no input. */
const write =
  (label: string, text: string): NonNullable<DialogCase["fill"]> =>
  (dialog) =>
    dialog.getByLabel(label, { exact: true }).fill(text.replace("#", String((texts += 1))));

const endpointPath = ({ endpoint }: DialogData): string => `/integrations/endpoints/${endpoint}`;

export const dialogCases: Record<string, DialogCase> = {
  "create key": {
    user: "owner",
    path: "/integrations/keys",
    open: [/^Create API key$/],
    title: /^(Create API key|Your new API key)$/,
    fill: (dialog) => dialog.getByLabel("Name").fill("Warehouse sync"),
    action: "Create API key",
    request: "CreateApiKey",
    after: { secret: /^wmk_/, done: "I’ve saved it" },
  },
  "rotate key": {
    user: "owner",
    path: "/integrations/keys",
    open: [/^Actions for Night sync$/, /^Rotate/],
    title: /^(Rotate Night sync|Your new API key)$/,
    fill: (dialog) => dialog.getByRole("slider").press("ArrowLeft"),
    action: "Rotate key",
    request: "RotateApiKey",
    after: { secret: /^wmk_/, done: "I’ve saved it" },
  },
  "create endpoint": {
    user: "owner",
    path: "/integrations/endpoints",
    open: [/^Create endpoint$/],
    title: /^(Create endpoint|Your signing secret)$/,
    fill: (dialog) => dialog.getByLabel("URL").fill("http://127.0.0.1:9/never-sent-to"),
    action: "Create endpoint",
    request: "CreateWebhookEndpoint",
    after: { secret: /^whsec_/, done: "Go to endpoint" },
  },
  "rotate secret": {
    user: "owner",
    path: endpointPath,
    open: [/^Rotate…$/],
    title: /^(Rotate signing secret\?|Your new signing secret)$/,
    action: "Rotate secret",
    request: "RotateWebhookSecret",
    after: { secret: /^whsec_/, done: "I’ve saved it" },
  },
  "edit endpoint": {
    user: "owner",
    path: endpointPath,
    open: [/^Edit$/],
    title: /^Edit endpoint$/,
    fill: write("Description", "Northern dispatch board #"),
    action: "Save",
    request: "UpdateWebhookEndpoint",
    after: "closed",
  },
  "pause endpoint": {
    user: "owner",
    path: endpointPath,
    open: [/^Pause$/],
    title: /^Pause this endpoint\?$/,
    action: "Pause",
    request: "PauseWebhookEndpoint",
    after: "closed",
  },
  "edit job": {
    user: "owner",
    path: ({ markingNumber }) => `/jobs/${markingNumber}`,
    open: [/^Edit$/],
    title: /^Edit MN-/,
    fill: write("Instructions", "Leave at reception #"),
    action: "Save",
    request: "UpdateJob",
    after: "closed",
  },
  "save view": {
    user: "owner",
    path: "/jobs",
    open: [/^Views/, /^Save view/],
    title: /^Save view$/,
    fill: write("Name", "Late in the east #"),
    action: "Save view",
    request: "SaveView",
    after: "closed",
  },
  invite: {
    user: "owner",
    path: "/members",
    open: [/^Invite$/],
    title: /^Invite a member$/,
    fill: write("E-mail", "colleague-#@test.example"),
    action: "Send invitation",
    request: "InviteMember",
    after: "closed",
  },
  "ask about a request": {
    user: "operator",
    path: ({ request }) => `/operator/requests/${request}`,
    open: [/^Ask a question…$/],
    title: /^Ask office@/,
    fill: write("Question", "Whose jobs would you carry out?"),
    action: "Send question",
    request: "AskAccountRequest",
    after: "closed",
  },
  "add status": {
    user: "operator",
    path: "/operator/statuses",
    open: [/^Add status$/],
    title: /^Add a status$/,
    fill: async (dialog) => {
      await dialog.getByLabel("Code").fill("in_customs");
      await dialog.getByLabel("Label").fill("In customs");
    },
    action: "Add status",
    request: "UpsertJobStatus",
    after: "closed",
  },
};
