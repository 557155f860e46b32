/** Composes a mail, as plain text and as HTML without external style sheets, images or scripts. */
import { escapeHtml } from "../core/escape-html.ts";

export interface MailContent {
  readonly title: string;
  /** Plain text; each becomes a paragraph. */
  readonly paragraphs: readonly string[];
  /** A button. The URL is also printed below it. */
  readonly action?: { readonly label: string; readonly url: string };
  /** A page of the guide, below the button. */
  readonly help?: { readonly label: string; readonly url: string };
  /** The page where the recipient can turn such mails off. */
  readonly settings?: string;
  readonly footnote?: string;
}

export interface NewMail {
  /** One e-mail address. */
  readonly to: string;
  /** For example `registration`. */
  readonly kind: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

const SIGNATURE = "Waymark";
const SETTINGS_LABEL = "Choose which notifications you get";

/** `to`: one e-mail address. Without `subject`, the mail's title is its subject. */
export function composeMail(
  to: string,
  kind: string,
  { subject, ...content }: MailContent & { readonly subject?: string },
): NewMail {
  return {
    to,
    kind,
    subject: subject ?? content.title,
    text: renderText(content),
    html: renderHtml(content),
  };
}

function renderText({ title, paragraphs, action, help, settings, footnote }: MailContent): string {
  const parts = [title, ...paragraphs];
  if (action) parts.push(`${action.label}:\n${action.url}`);
  if (help) parts.push(`${help.label}:\n${help.url}`);
  if (settings !== undefined) parts.push(`${SETTINGS_LABEL}:\n${settings}`);
  if (footnote !== undefined) parts.push(footnote);
  // "-- " marks the signature, which mail programs can collapse.
  return `${parts.join("\n\n")}\n\n-- \n${SIGNATURE}\n`;
}

const FONT_STYLE = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
/** The colour's contrast on the white card is above 4.5 : 1. The style sheet below replaces it in dark mode. */
const SMALL_PRINT_STYLE = "margin:0 0 12px;font-size:14px;line-height:1.5;color:#5c6370";

function renderHtml({ title, paragraphs, action, help, settings, footnote }: MailContent): string {
  const body = [
    `<h1 style="margin:0 0 16px;font-size:22px;line-height:1.3">${escapeHtml(title)}</h1>`,
    ...paragraphs.map((text) => `<p style="margin:0 0 16px">${withLineBreaks(text)}</p>`),
    ...(action ? [renderButton(action), renderSmallLink("Or open this URL", action.url)] : []),
    ...(help ? [renderSmallLink(help.label, help.url)] : []),
    ...(settings === undefined ? [] : [renderSmallLink(SETTINGS_LABEL, settings)]),
    ...(footnote === undefined ? [] : [renderSmall(withLineBreaks(footnote))]),
  ];
  return `<!doctype html>
<html lang="en" dir="ltr">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(title)}</title>
<style>
:root{color-scheme:light dark}
@media (prefers-color-scheme:dark){.page{background:#16181d!important}.card{background:#1f2229!important;color:#e9ebf0!important}.small,.small a{color:#a9b0bd!important}}
</style>
</head>
<body class="page" style="margin:0;padding:24px 12px;background:#f3f4f6">
<div role="article" aria-label="${escapeHtml(title)}" class="card" style="max-width:560px;margin:0 auto;padding:32px 28px;border-radius:12px;background:#ffffff;color:#1c2027;font-size:16px;line-height:1.55;${FONT_STYLE}">
${body.join("\n")}
<p style="${SMALL_PRINT_STYLE};margin-top:28px;margin-bottom:0" class="small">${SIGNATURE}</p>
</div>
</body>
</html>
`;
}

function renderButton({ label, url }: { label: string; url: string }): string {
  return `<p style="margin:24px 0"><a href="${escapeHtml(url)}" style="display:inline-block;padding:12px 22px;border-radius:8px;background:#1f5fd0;color:#ffffff;font-weight:600;text-decoration:none">${escapeHtml(label)}</a></p>`;
}

function renderSmallLink(label: string, url: string): string {
  const href = escapeHtml(url);
  return renderSmall(
    `${escapeHtml(label)}:<br><a href="${href}" style="color:inherit;word-break:break-all">${href}</a>`,
  );
}

function renderSmall(html: string): string {
  return `<p style="${SMALL_PRINT_STYLE}" class="small">${html}</p>`;
}

function withLineBreaks(text: string): string {
  return escapeHtml(text).replaceAll("\n", "<br>");
}

/** Replaces URLs in `text` by "[link]", as they may contain tokens. */
export function redactLinks(text: string): string {
  return text.replace(/\bhttps?:\/\/\S+/gi, "[link]");
}
