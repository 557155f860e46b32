# Node strips the server's types itself, so of the server there is nothing to build: this stage only installs.
FROM node:24.21.0-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The image has its own Node and never runs the embedded PostgreSQL: it needs neither the install script that
# fetches the one nor the optional packages that hold the other.
RUN npm ci --omit=dev --omit=optional --ignore-scripts

# The console, the guide and the clients are built with the packages of development, which go no further.
FROM node:24.21.0-slim AS site
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY CHANGELOG.md LICENSE ./
COPY clients clients
COPY docs docs
COPY schema schema
COPY src src
RUN node src/build.ts

FROM node:24.21.0-slim
WORKDIR /app
# The 19 MiB that a password's hash takes go back to the system, and are not kept by each thread (decision 0042).
ENV NODE_ENV=production HOST=0.0.0.0 MALLOC_MMAP_THRESHOLD_=1048576
COPY --from=dependencies /app/node_modules node_modules
COPY --from=site /app/.site .site
COPY package.json package.json
COPY schema schema
COPY src src
USER node
EXPOSE 4000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 4000}/health/live`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Process 1 is the program itself and not npm or a shell, which would not hand SIGTERM on.
# A young generation of 16 MB, and an old one that is collected early, keep it small (decision 0041).
CMD ["node", "--max-semi-space-size=16", "--heap-growing-percent=100", "src/main.ts"]
