# syntax=docker/dockerfile:1

# The version of Node that the tests run with; scripts and types need it while building. docs/dependencies.md says how
# to renew a digest.
FROM node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20 AS build
WORKDIR /src
COPY package.json package-lock.json ./
# The packages named node-linux-* bring a Node for machines with an older one; here is one.
RUN npm ci --no-audit --no-fund --loglevel=error
COPY tsconfig.json tsconfig.types.json ./
COPY scripts ./scripts
COPY src ./src
COPY workers ./workers
COPY config ./config
RUN npm run build \
  && npm prune --omit=dev --no-audit --no-fund --loglevel=error \
  && rm -rf node_modules/node-linux-* node_modules/node-bin-* node_modules/.bin

FROM node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20
ENV NODE_ENV=production
# No signal opens a debugger.
ENV NODE_OPTIONS=--disable-sigusr1
WORKDIR /opt/breakwater
COPY --from=build /src/node_modules ./node_modules
COPY --from=build /src/dist ./dist
COPY LICENSE ./
# A volume takes over who owns the folder that it is mounted on. Nothing else is ever written to.
RUN ln -s /opt/breakwater/dist/src/cli/main.js /usr/local/bin/breakwater \
  && mkdir -p /var/lib/breakwater/keys /var/lib/breakwater/secrets \
    /var/lib/breakwater/prometheus-secrets /var/lib/breakwater/grafana-secrets \
    /var/lib/breakwater/redis-secrets /var/lib/breakwater/state \
  && chown -R node:node /var/lib/breakwater \
  && chmod 750 /var/lib/breakwater/*
USER node
EXPOSE 9642
# Whether the process answers, without a token. A listener of its own (web.health) is better, and for processes without
# the role `web` the only one.
ENV BREAKWATER_HEALTH_URL=http://127.0.0.1:9642/healthz
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(process.env.BREAKWATER_HEALTH_URL).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# What is in memory, keys among it, is never written to a file by a crash: Kubernetes has no setting of its own for that.
ENTRYPOINT ["sh", "-c", "ulimit -c 0; exec node /opt/breakwater/dist/src/cli/main.js \"$@\"", "breakwater"]
CMD ["run", "--config", "/etc/breakwater/breakwater.yaml"]
