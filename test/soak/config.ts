export interface SoakParts {
  readonly baseUrls: readonly string[];
  readonly redisUrl: string;
  readonly webhookUrl: string;
  readonly ids: readonly string[];
}

/** Rules that fire and clear with every swing of the prices, all with orders; every feature that uses memory is on. */
export function soakConfig({ baseUrls, redisUrl, webhookUrl, ids }: SoakParts): string {
  const accounts = ids.map(
    (id, index) =>
      `  - { id: ${id}, apiKey: { env: KEY_${index} }, apiSecret: { env: SECRET_${index} }, rules: [near, half, standing, aged], watch: { positions: true, creditLine: true, mainBalance: [USDT] } }`,
  );
  return `mode: enforce
insecure: [redis]
exchange: { baseUrls: ${JSON.stringify(baseUrls)}, lateArrival: 3s }
redis: { url: "${redisUrl}", prefix: soak }
web: { port: 0 }
cadence: { calm: 4s, alert: 1s }
notify: { remindEvery: 60s }
channels:
  hook: { type: webhook, url: "${webhookUrl}/hook", secret: { env: HOOK } }
markets:
  BTC_PERP: { amountStep: "0.01", priceStep: "0.1", minAmount: "0.01", maintenanceMargin: 3% }
  ETH_PERP: { amountStep: "0.01", priceStep: "0.01", minAmount: "0.01", maintenanceMargin: 3% }
accounts:
${accounts.join('\n')}
rules:
  - id: near
    on: position
    severity: critical
    when: { liquidationDistance: { below: 5%, clearAbove: 6.5% } }
    do: [{ notify: { channels: [hook] } }, { reduce: { untilDistance: 7%, slippage: 1% } }]
  - id: half
    on: position
    when: { liquidationDistance: { below: 4% } }
    do: [{ cancelAll: { types: [margin, futures], scope: market } }, { reduce: { by: 50%, slippage: 2% } }]
  - id: standing
    on: position
    when: { liquidationDistance: { below: 30% } }
    do: [{ protect: { at: 85%, slippage: 3% } }]
  - id: aged
    on: account
    when: { dataAge: { above: 20s } }
    do: [{ notify: { channels: [hook] } }]
`;
}
