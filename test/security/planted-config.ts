import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { tokenHashOf } from '../../src/web/token.ts';
import { configText, environment } from '../daemon/config.ts';
import type { Certificate } from '../support/certificates.ts';
import { PLANTED } from './planted.ts';
import { startProxy } from './planted-servers.ts';

/** A position near its liquidation and a credit line near its margin call; every channel is notified. */
const RULES = `  - id: near
    on: position
    when: { liquidationDistance: { below: 90% } }
    severity: critical
    do:
      - notify: {}
      - reduce: { by: 50%, slippage: 1% }
  - id: ltv
    on: creditLine
    when: { currentLtv: { above: 51% } }
    do: [{ notify: { cure: [50%] } }]
`;

/** Public URL of the daemon's page. */
export const PUBLIC_URL = 'http://127.0.0.1:9';

export interface Planting {
  readonly simulator: RunningSimulator;
  /** The folder of the planted files; the daemon writes there too. */
  readonly folder: string;
  readonly prefix: string;
  readonly receiverUrl: string;
  readonly mailPort: number;
  readonly redisUrl: string;
  readonly tls: Certificate & { readonly ca: string };
}

/** A config with every secret that one can have, and its environment. */
export async function plantedConfig(planting: Planting) {
  const { simulator, folder, receiverUrl, redisUrl } = planting;
  const proxies = {
    EXCHANGE_PROXY: await startProxy(PLANTED.exchangeProxy),
    EGRESS_PROXY: await startProxy(PLANTED.egressProxy),
    CHANNEL_PROXY: await startProxy(PLANTED.channelProxy),
    HEARTBEAT_PROXY: await startProxy(PLANTED.heartbeatProxy),
    REFUSED_PROXY: await startProxy(PLANTED.refusedProxy, { refuses: true }),
  };
  const env: Readonly<Record<string, string>> = {
    ...environment(simulator),
    ...proxies,
    OPERATORS_KEY: PLANTED.operatorsKey,
    REDIS: redisUrl,
    HOOK: `${receiverUrl}/hooks/${PLANTED.hookAddress}`,
    SLACK: `${receiverUrl}/services/${PLANTED.slackAddress}`,
    ALERTS: `Bearer ${PLANTED.alertmanager}`,
    DISCORD: `${receiverUrl}/api/webhooks/${PLANTED.discordPath}`,
    TEAMS: `${receiverUrl}/workflows/1/invoke?sig=${PLANTED.teamsSignature}`,
    HEARTBEAT: `${receiverUrl}/ping/${PLANTED.heartbeatPath}`,
    OPSGENIE: PLANTED.opsgenieKey,
  };
  await writeFile(path.join(folder, 'withdrawals'), `${PLANTED.withdrawalAddress}\n`, { mode: 0o600 });
  return { env, text: textOf(planting), sentinels: sentinelText(planting) };
}

const VIA = 'proxy: { env: CHANNEL_PROXY }';

function textOf({ simulator, folder, prefix, receiverUrl, mailPort, tls }: Planting): string {
  const file = (name: keyof typeof PLANTED | 'country'): string => `{ file: "${folder}/${name}" }`;
  const more = `redis: { url: { env: REDIS }, prefix: "${prefix}", ca: "${tls.ca}", cert: "${tls.cert}", key: "${tls.key}" }
stateDir: "${folder}/mirror"
audit: { headsFile: "${folder}/heads" }
egress:
  default: {}
  away: { proxy: { env: EGRESS_PROXY } }
heartbeat: { url: { env: HEARTBEAT }, every: 1s, proxy: { env: HEARTBEAT_PROXY } }
channels:
  broken: { type: slack, url: { env: SLACK }, giveUpAfter: 1s, ${VIA} }
  refused: { type: webhook, url: { env: HOOK }, giveUpAfter: 1s, proxy: { env: REFUSED_PROXY } }
  hook: { type: webhook, url: { env: HOOK }, secret: ${file('hookSecret')}, ${VIA} }
  bot: { type: telegram, token: ${file('telegramToken')}, chat: "-100", api: "${receiverUrl}", ${VIA} }
  alerts: { type: alertmanager, urls: ["${receiverUrl}"], authorization: { env: ALERTS }, ${VIA} }
  phone: { type: ntfy, topic: ${file('ntfyTopic')}, token: ${file('ntfyToken')}, server: "${receiverUrl}", ${VIA} }
  discord: { type: discord, url: { env: DISCORD }, ${VIA} }
  teams: { type: teams, url: { env: TEAMS }, ${VIA} }
  duty: { type: pagerduty, routingKey: ${file('pagerdutyKey')}, api: "${receiverUrl}", ${VIA} }
  genie: { type: opsgenie, apiKey: { env: OPSGENIE }, api: "${receiverUrl}", ${VIA} }
  mail: { type: email, server: "smtp://127.0.0.1:${mailPort}", user: desk, password: ${file('mailPassword')}, from: a@desk.example, to: b@desk.example, ${VIA} }
depositLink: ${depositLink(file)}
`;
  const allowList = `    watch: { withdrawalAllowList: { file: "${folder}/withdrawals" } }\n`;
  const away = `    egress: away\n    depositLink: ${depositLink(file)}\n`;
  return configText(simulator, {
    accounts: { long: { rules: ['near', 'ltv'], more: allowList }, flat: { rules: [], more: away } },
    exchange: '  proxy: { env: EXCHANGE_PROXY }',
    rules: RULES,
    more,
    web: `{ port: 0, token: ${file('readToken')}, controlToken: ${file('controlToken')}, publicUrl: "${PUBLIC_URL}", users: { carol: { scopes: [control], tokenHash: "${tokenHashOf(PLANTED.userToken)}" } } }`,
    acting: '{ fillWithin: 10m, intentTtl: 1h, maxSnapshotAge: 4s }',
  });
}

function depositLink(file: (name: keyof typeof PLANTED | 'country') => string): string {
  const address = `{ line1: ${file('line1')}, line2: ${file('line2')}, city: ${file('city')}, zipCode: ${file('zipCode')}, countryCode: ${file('country')} }`;
  const customer = `{ firstName: ${file('firstName')}, lastName: ${file('lastName')}, email: ${file('email')}, birthDate: ${file('birthDate')}, address: ${address} }`;
  return `{ ticker: [USD, EUR], provider: VISAMASTER, maxAmount: 4000, customer: ${customer} }`;
}

/** Sentinels that do not answer: shows what a config with them reveals of their password. */
function sentinelText({ simulator, folder, prefix }: Planting): string {
  const password = `{ file: "${folder}/sentinelPassword" }`;
  return configText(simulator, {
    accounts: { long: { rules: ['near'] } },
    rules: RULES.slice(0, RULES.indexOf('  - id: ltv')),
    more: `redis: { url: "redis+sentinel://127.0.0.1:1/main", prefix: "${prefix}", sentinelUser: desk, sentinelPassword: ${password} }\nchannels: {}\n`,
  });
}

/** The lines of a private key: any one of them is a leak. */
export async function keyLines(file: string): Promise<Readonly<Record<string, string>>> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => /^[\w+/=]{20,}$/.test(line));
  return Object.fromEntries(lines.map((line, index) => [`line ${index + 1} of redis.key`, line]));
}
