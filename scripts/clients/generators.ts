/** The client generators with pinned versions, and the commands that install, generate, compile and call. */

export interface ClientGenerator {
  readonly name: string;
  readonly version: string;
  /** Commands that must be installed on the machine. */
  readonly requiredCommands: readonly string[];
  /** Shell command, like the next three. Paths: `$CACHE` downloads, `$PROGRAMS` test programs, `$DOCUMENT` OpenAPI. */
  readonly installCommand: string;
  readonly generateCommand: string;
  readonly compileCommand: string;
  /** Null: the client is compiled but not run. */
  readonly callCommand: string | null;
}

const GENERATOR_VERSION = "7.25.0";
const JAR = `$CACHE/openapi-generator-cli-${GENERATOR_VERSION}.jar`;
const fetchJar = `test -f ${JAR} || mvn -q -B dependency:copy -Dartifact=org.openapitools:openapi-generator-cli:${GENERATOR_VERSION} -DoutputDirectory=$CACHE`;
/** Without this, the generator treats objects as closed, and its Go and Python clients reject new properties. */
const OPEN_OBJECTS = "disallowAdditionalPropertiesIfNotPresent=false";

const openapiGenerator = (language: string, folder: string, properties: string): string =>
  `java -jar ${JAR} generate -i $DOCUMENT -g ${language} -o ${folder} --additional-properties=${properties}`;

const npmPackages =
  "typescript@5.9.3 @types/node@24.19.2 esbuild@0.25.12 @hey-api/openapi-ts@0.99.0 orval@8.38.0 openapi-typescript@7.13.0 openapi-fetch@0.17.0";
const installInCache = (install: string, folder: string): string =>
  `mkdir -p $CACHE/${folder} && cd $CACHE/${folder} && ${install}`;
const fetchNpm = installInCache(
  `{ test -f package.json || echo '{"private":true}' > package.json; } && npm install --no-audit --no-fund --save-exact ${npmPackages}`,
  "npm",
);
const NPM_BIN = "$CACHE/npm/node_modules/.bin";
const linkNpm = (program: string): string =>
  `ln -s $CACHE/npm/node_modules node_modules && echo '{"type":"module"}' > package.json && cp $PROGRAMS/${program}.ts calls.ts && cp $PROGRAMS/checks.ts .`;
const compileTypeScript = `${NPM_BIN}/tsc --noEmit --strict --skipLibCheck --allowImportingTsExtensions --target es2022 --module esnext --moduleResolution bundler --lib es2022,dom,dom.iterable --types node calls.ts && ${NPM_BIN}/esbuild calls.ts --bundle --platform=node --format=esm --outfile=out.mjs --log-level=error`;

function typescript(name: string, version: string, generate: string): ClientGenerator {
  const steps = { compileCommand: compileTypeScript, callCommand: "node out.mjs" };
  return {
    name,
    version,
    requiredCommands: ["npm", "node"],
    installCommand: fetchNpm,
    generateCommand: `${linkNpm(name)} && ${generate}`,
    ...steps,
  };
}

const pip = (packages: string, folder = "python"): string =>
  `test -d $CACHE/${folder} || python3 -m venv $CACHE/${folder}; $CACHE/${folder}/bin/pip install -q ${packages}`;
const compilePython = "$CACHE/python/bin/python -m compileall -q waymark_client calls.py";
const callPython = "$CACHE/python/bin/python calls.py";
const compileGo =
  "printf 'module example.com\\n\\ngo 1.24\\n' > go.mod && go mod tidy && go build -o calls . ";

export const clientGenerators: readonly ClientGenerator[] = [
  typescript("openapi-typescript", "7.13.0", `${NPM_BIN}/openapi-typescript $DOCUMENT -o generated.d.ts`),
  typescript("hey-api", "0.99.0", `${NPM_BIN}/openapi-ts -i $DOCUMENT -o generated`),
  typescript(
    "orval",
    "8.38.0",
    `cp $PROGRAMS/orval.config.mjs . && ${NPM_BIN}/orval --config orval.config.mjs`,
  ),
  {
    ...typescript(
      "typescript-fetch",
      GENERATOR_VERSION,
      openapiGenerator("typescript-fetch", "generated", "supportsES6=true"),
    ),
    name: "openapi-generator typescript-fetch",
    requiredCommands: ["npm", "node", "java", "mvn"],
    installCommand: `${fetchNpm}; ${fetchJar}`,
  },
  {
    name: "openapi-python-client",
    version: "0.29.1",
    requiredCommands: ["python3"],
    installCommand: pip("openapi-python-client==0.29.1 httpx==0.28.1 attrs python-dateutil"),
    generateCommand: `$CACHE/python/bin/openapi-python-client generate --path $DOCUMENT --meta none --output-path waymark_client && cp $PROGRAMS/openapi_python_client.py calls.py`,
    compileCommand: compilePython,
    callCommand: callPython,
  },
  {
    name: "openapi-generator python",
    version: GENERATOR_VERSION,
    requiredCommands: ["python3", "java", "mvn"],
    installCommand: `${fetchJar}; ${pip("pydantic urllib3 python-dateutil typing-extensions")}`,
    generateCommand: `${openapiGenerator("python", ".", `${OPEN_OBJECTS},packageName=waymark_client`)} && cp $PROGRAMS/openapi_generator.py calls.py`,
    // Nothing imports its module for webhooks, which this version generates with empty annotations.
    compileCommand: compilePython.replace("-q", "-q -x webhook_events_api"),
    callCommand: callPython,
  },
  {
    name: "openapi-generator go",
    version: GENERATOR_VERSION,
    requiredCommands: ["go", "java", "mvn"],
    installCommand: fetchJar,
    generateCommand: `${openapiGenerator("go", "generated", `${OPEN_OBJECTS},packageName=waymark`)} && rm -rf generated/go.* generated/test && cp $PROGRAMS/openapi_generator.go main.go`,
    compileCommand: compileGo,
    callCommand: "./calls",
  },
  {
    name: "oapi-codegen",
    version: "2.8.2",
    requiredCommands: ["go"],
    installCommand:
      "test -x $CACHE/oapi-codegen || GOBIN=$CACHE go install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2",
    // Its pruning drops schemas that only webhooks refer to.
    generateCommand:
      "mkdir generated && $CACHE/oapi-codegen -config $PROGRAMS/oapi-codegen.yaml -o generated/client.go $DOCUMENT && cp $PROGRAMS/oapi_codegen.go main.go",
    compileCommand: compileGo,
    callCommand: "./calls",
  },
  {
    name: "openapi-generator java",
    version: GENERATOR_VERSION,
    requiredCommands: ["java", "mvn"],
    installCommand: fetchJar,
    generateCommand: `${openapiGenerator("java", ".", "library=native")} && cp $PROGRAMS/OpenapiGenerator.java src/main/java`,
    compileCommand: "mvn -q -B compile dependency:build-classpath -Dmdep.outputFile=classpath.txt",
    callCommand: 'java -cp "target/classes:$(cat classpath.txt)" OpenapiGenerator',
  },
  {
    name: "openapi-generator rust",
    version: GENERATOR_VERSION,
    requiredCommands: ["cargo", "java", "mvn"],
    installCommand: fetchJar,
    generateCommand: `${openapiGenerator("rust", ".", "packageName=waymark_client")} && mkdir examples && cp $PROGRAMS/openapi_generator.rs examples/calls.rs && printf '\\n[dev-dependencies]\\ntokio = { version = "1", features = ["macros", "rt-multi-thread"] }\\n' >> Cargo.toml`,
    compileCommand: "CARGO_TARGET_DIR=$CACHE/cargo cargo build -q --example calls",
    callCommand: "CARGO_TARGET_DIR=$CACHE/cargo cargo run -q --example calls",
  },
  {
    name: "Spectral",
    version: "6.16.3",
    requiredCommands: ["npm"],
    installCommand: installInCache(
      `{ test -f package.json || echo '{"private":true}' > package.json; } && npm install --no-audit --no-fund --save-exact @stoplight/spectral-cli@6.16.3`,
      "spectral",
    ),
    generateCommand: "printf 'extends: [\"spectral:oas\"]\\n' > rules.yaml",
    compileCommand:
      "$CACHE/spectral/node_modules/.bin/spectral lint -r rules.yaml --fail-severity=hint $DOCUMENT",
    callCommand: null,
  },
  {
    name: "Redocly",
    version: "2.77.0",
    requiredCommands: ["npm"],
    installCommand: installInCache(
      `{ test -f package.json || echo '{"private":true}' > package.json; } && npm install --no-audit --no-fund --save-exact @redocly/cli@2.77.0`,
      "redocly",
    ),
    generateCommand: "true",
    compileCommand:
      "! $CACHE/redocly/node_modules/.bin/redocly lint --extends=recommended --format=json $DOCUMENT 2>/dev/null | grep '\"ruleId\"'",
    callCommand: null,
  },
  {
    name: "Schemathesis",
    version: "4.32.5",
    requiredCommands: ["python3"],
    installCommand: pip("schemathesis==4.32.5", "schemathesis"),
    generateCommand: "cp $PROGRAMS/schemathesis.toml .",
    // Sends generated requests to each operation: all answers must be as the document says, and none a 5xx. Those of test mode
    // answer a live key as unknown paths do, so they get a test key.
    compileCommand: `st=$CACHE/schemathesis/bin/st; $st run $DOCUMENT --url $BASE_URL -H "x-api-key: $API_KEY" --exclude-path-regex ^/test/ && $st run $DOCUMENT --url $BASE_URL -H "x-api-key: $TEST_API_KEY" --include-path-regex ^/test/`,
    callCommand: null,
  },
];
