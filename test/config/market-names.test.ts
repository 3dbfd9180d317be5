import { expect, test } from 'vitest';
import { BASE, linesOf, loaded } from './support.ts';

const configFor = (market: string): string => `${BASE.replace('"*":', `"${market}":`)}accounts:
  - id: desk-1
    apiKey: { env: API_KEY }
    apiSecret: { env: API_SECRET }
    rules: [near]
rules:
  - id: near
    on: position
    where: { market: "${market}" }
    when: { liquidationDistance: { below: 5% } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

test.each(['kPEPE_PERP', '1000SATS_PERP', '币安人生_PERP', 'ΣOL_USDT', 'BTC-PERP', 'x.y_PERP', 'k*_PERP'])(
  'the market %s cannot be configured by name',
  (market) => {
    const [account] = loaded(configFor(market)).accounts;
    expect(account?.settings.marketSettings(market.replace('*', 'BONK'))?.priceStep).toBe('0.1');
  },
);

test.each(['btc', 'BTC PERP', 'BTC:PERP', 'BTC_PERP,ETH_PERP', '', 'A'.repeat(41)])(
  '%j is no market',
  (market) => {
    expect(linesOf(configFor(market)).join('\n')).toMatch(/market/);
  },
);
