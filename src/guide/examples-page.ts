/** The page with all GraphQL samples of the guide, grouped by kind. */
import { Kind, parse, type OperationDefinitionNode } from "graphql";
import { EXAMPLES_FILE, slugify } from "./contents.ts";
import { parseMarkdown, plainText } from "./markdown.ts";
import { markdownPage, type Page } from "./pages.ts";
import { readSample, type Sample } from "./samples.ts";
import { posix } from "node:path";

/** A sample and the section of the guide that shows it. */
export interface Example extends Sample {
  /** Relative to `docs/`. */
  file: string;
  heading: string;
  /** The heading without the number of a step, and with the name of the operation if the section has several. */
  title: string;
  name: string;
  pageTitle: string;
  rootFields: string[];
}

const TITLES: Readonly<Record<Sample["kind"], string>> = {
  query: "Queries",
  mutation: "Mutations",
  subscription: "Subscriptions",
};

/** Returns the GraphQL samples of `pages` in reading order. */
export function readExamples(pages: readonly Page[]): Example[] {
  const examples = pages.flatMap(({ file, title: pageTitle, markdown }) => {
    let heading = pageTitle;
    const tokens = parseMarkdown(markdown);
    return tokens.flatMap((token, index): Example[] => {
      if (token.type === "inline" && tokens[index - 1]?.type === "heading_open") heading = plainText(token);
      const sample = readSample(token, tokens[index + 1]);
      return sample ? [toExample(sample, { file, heading, pageTitle })] : [];
    });
  });
  const sections = Map.groupBy(examples, ({ file, heading }) => `${file}#${heading}`);
  for (const siblings of sections.values())
    if (siblings.length > 1) for (const example of siblings) example.title += `: ${example.name}`;
  return examples;
}

function toExample(sample: Sample, section: Pick<Example, "file" | "heading" | "pageTitle">): Example {
  const [operation] = parse(sample.document).definitions as OperationDefinitionNode[];
  const selections = operation?.selectionSet.selections ?? [];
  return {
    ...sample,
    ...section,
    title: section.heading.replace(/^\d+\. /, ""),
    name: operation?.name?.value ?? "",
    rootFields: selections.flatMap((each) => (each.kind === Kind.FIELD ? [each.name.value] : [])),
  };
}

export function examplesPage(examples: readonly Example[]): Page {
  const groups = Map.groupBy(examples, ({ kind }) => kind);
  const lists = Object.entries(TITLES).flatMap(([kind, title]) => [
    `## ${title}`,
    ...(groups.get(kind as Sample["kind"]) ?? []).map(renderExample),
  ]);
  const introduction =
    "Every GraphQL sample of this guide in one place. Open one in GraphiQL, enter your API key as a header, and run it.";
  const note =
    "Each sample selects `id` of every object that has one, so that caching clients can merge the results. An explorer only shows the operation: nothing runs until you run it.";
  return markdownPage(
    EXAMPLES_FILE,
    [`# GraphQL examples`, introduction, note, ...lists].join("\n\n") + "\n",
  );
}

function renderExample({ title, pageTitle, file, heading, document, variables }: Example): string {
  const target = `${posix.relative(posix.dirname(EXAMPLES_FILE), file)}#${slugify(heading)}`;
  const parts = [
    `### ${title}`,
    `Explained in [${pageTitle}](${target}).`,
    `\`\`\`graphql\n${document}\n\`\`\``,
    ...(variables ? [`\`\`\`json\n${JSON.stringify(variables, null, 2)}\n\`\`\``] : []),
  ];
  return parts.join("\n\n");
}
