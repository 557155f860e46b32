/** The client generators, with pinned versions: how each is fetched, and what generates, compiles and calls. */

export interface Tool {
  readonly name: string;
  readonly version: string;
  /** Commands that the machine must have. */
  readonly needs: readonly string[];
  /** Shell commands. `$CACHE` keeps what was fetched, `$PROGRAMS` has the programs, `$DOCUMENT` is the OpenAPI document. */
  readonly fetch: string;
  readonly generate: string;
  readonly compile: string;
  /** Null: the tool is only compiled. */
  readonly calls: string | null;
}

const GENERATOR = "7.25.0";
const JAR = `$CACHE/openapi-generator-cli-${GENERATOR}.jar`;
const fetchJar = `test -f ${JAR} || mvn -q -B dependency:copy -Dartifact=org.openapitools:openapi-generator-cli:${GENERATOR} -DoutputDirectory=$CACHE`;
/** By default this generator treats objects as closed, and its Go and Python clients would refuse new members. */
const OPEN = "disallowAdditionalPropertiesIfNotPresent=false";

const openapiGenerator = (language: string, folder: string, properties: string): string =>
  `java -jar ${JAR} generate -i $DOCUMENT -g ${language} -o ${folder} --additional-properties=${properties}`;

const npmPackages =
  "typescript@5.9.3 @types/node@24.19.2 esbuild@0.25.12 @hey-api/openapi-ts@0.99.0 orval@8.38.0 openapi-typescript@7.13.0 openapi-fetch@0.17.0";
const inCache = (install: string, folder: string): string =>
  `mkdir -p $CACHE/${folder} && cd $CACHE/${folder} && ${install}`;
const fetchNpm = inCache(
  `{ test -f package.json || echo '{"private":true}' > package.json; } && npm install --no-audit --no-fund --save-exact ${npmPackages}`,
  "npm",
);
const BIN = "$CACHE/npm/node_modules/.bin";
const linkNpm = (program: string): string =>
  `ln -s $CACHE/npm/node_modules node_modules && echo '{"type":"module"}' > package.json && cp $PROGRAMS/${program}.ts calls.ts && cp $PROGRAMS/checks.ts .`;
const compileTypeScript = `${BIN}/tsc --noEmit --strict --skipLibCheck --allowImportingTsExtensions --target es2022 --module esnext --moduleResolution bundler --lib es2022,dom,dom.iterable --types node calls.ts && ${BIN}/esbuild calls.ts --bundle --platform=node --format=esm --outfile=out.mjs --log-level=error`;

function typescript(name: string, version: string, generate: string): Tool {
  const steps = { compile: compileTypeScript, calls: "node out.mjs" };
  return {
    name,
    version,
    needs: ["npm", "node"],
    fetch: fetchNpm,
    generate: `${linkNpm(name)} && ${generate}`,
    ...steps,
  };
}

const pip = (packages: string): string =>
  `test -d $CACHE/python || python3 -m venv $CACHE/python; $CACHE/python/bin/pip install -q ${packages}`;
const compilePython = "$CACHE/python/bin/python -m compileall -q waymark_client calls.py";
const callPython = "$CACHE/python/bin/python calls.py";
const compileGo =
  "printf 'module example.com\\n\\ngo 1.24\\n' > go.mod && go mod tidy && go build -o calls . ";

export const tools: readonly Tool[] = [
  typescript("openapi-typescript", "7.13.0", `${BIN}/openapi-typescript $DOCUMENT -o generated.d.ts`),
  typescript("hey-api", "0.99.0", `${BIN}/openapi-ts -i $DOCUMENT -o generated`),
  typescript("orval", "8.38.0", `cp $PROGRAMS/orval.config.mjs . && ${BIN}/orval --config orval.config.mjs`),
  {
    ...typescript(
      "typescript-fetch",
      GENERATOR,
      openapiGenerator("typescript-fetch", "generated", "supportsES6=true"),
    ),
    name: "openapi-generator typescript-fetch",
    needs: ["npm", "node", "java", "mvn"],
    fetch: `${fetchNpm}; ${fetchJar}`,
  },
  {
    name: "openapi-python-client",
    version: "0.29.1",
    needs: ["python3"],
    fetch: pip("openapi-python-client==0.29.1 httpx==0.28.1 attrs python-dateutil"),
    generate: `$CACHE/python/bin/openapi-python-client generate --path $DOCUMENT --meta none --output-path waymark_client && cp $PROGRAMS/openapi_python_client.py calls.py`,
    compile: compilePython,
    calls: callPython,
  },
  {
    name: "openapi-generator python",
    version: GENERATOR,
    needs: ["python3", "java", "mvn"],
    fetch: `${fetchJar}; ${pip("pydantic urllib3 python-dateutil typing-extensions")}`,
    generate: `${openapiGenerator("python", ".", `${OPEN},packageName=waymark_client`)} && cp $PROGRAMS/openapi_generator.py calls.py`,
    // Nothing imports its module for webhooks, which this version generates with empty annotations.
    compile: compilePython.replace("-q", "-q -x webhooks_api"),
    calls: callPython,
  },
  {
    name: "openapi-generator go",
    version: GENERATOR,
    needs: ["go", "java", "mvn"],
    fetch: fetchJar,
    generate: `${openapiGenerator("go", "generated", `${OPEN},packageName=waymark`)} && rm -rf generated/go.* generated/test && cp $PROGRAMS/openapi_generator.go main.go`,
    compile: compileGo,
    calls: "./calls",
  },
  {
    name: "oapi-codegen",
    version: "2.8.2",
    needs: ["go"],
    fetch:
      "test -x $CACHE/oapi-codegen || GOBIN=$CACHE go install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2",
    // Its pruning drops schemas that only webhooks refer to.
    generate:
      "mkdir generated && $CACHE/oapi-codegen -config $PROGRAMS/oapi-codegen.yaml -o generated/client.go $DOCUMENT && cp $PROGRAMS/oapi_codegen.go main.go",
    compile: compileGo,
    calls: "./calls",
  },
  {
    name: "openapi-generator java",
    version: GENERATOR,
    needs: ["java", "mvn"],
    fetch: fetchJar,
    generate: `${openapiGenerator("java", ".", "library=native")} && cp $PROGRAMS/OpenapiGenerator.java src/main/java`,
    compile: "mvn -q -B compile dependency:build-classpath -Dmdep.outputFile=classpath.txt",
    calls: 'java -cp "target/classes:$(cat classpath.txt)" OpenapiGenerator',
  },
  {
    name: "openapi-generator rust",
    version: GENERATOR,
    needs: ["cargo", "java", "mvn"],
    fetch: fetchJar,
    generate: `${openapiGenerator("rust", ".", "packageName=waymark_client")} && mkdir examples && cp $PROGRAMS/openapi_generator.rs examples/calls.rs && printf '\\n[dev-dependencies]\\ntokio = { version = "1", features = ["macros", "rt-multi-thread"] }\\n' >> Cargo.toml`,
    compile: "CARGO_TARGET_DIR=$CACHE/cargo cargo build -q --example calls",
    calls: "CARGO_TARGET_DIR=$CACHE/cargo cargo run -q --example calls",
  },
  {
    name: "Spectral",
    version: "6.16.3",
    needs: ["npm"],
    fetch: inCache(
      `{ test -f package.json || echo '{"private":true}' > package.json; } && npm install --no-audit --no-fund --save-exact @stoplight/spectral-cli@6.16.3`,
      "spectral",
    ),
    generate: "printf 'extends: [\"spectral:oas\"]\\n' > rules.yaml",
    compile:
      "$CACHE/spectral/node_modules/.bin/spectral lint -r rules.yaml --fail-severity=hint $DOCUMENT $OPERATIONS",
    calls: null,
  },
  {
    name: "Redocly",
    version: "2.77.0",
    needs: ["npm"],
    fetch: inCache(
      `{ test -f package.json || echo '{"private":true}' > package.json; } && npm install --no-audit --no-fund --save-exact @redocly/cli@2.77.0`,
      "redocly",
    ),
    generate: "true",
    compile:
      "! $CACHE/redocly/node_modules/.bin/redocly lint --extends=recommended --format=json $DOCUMENT $OPERATIONS 2>/dev/null | grep '\"ruleId\"'",
    calls: null,
  },
];
