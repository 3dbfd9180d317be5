import { createHmac } from 'node:crypto';
import { buildAccount } from './build.ts';
import type { AccountCase } from './generate.ts';

const PATH = '/api/v4/collateral-account/positions/open';

/** The exchange's list of positions of a generated account, as sent, but for its times. */
export async function listOf(account: AccountCase): Promise<readonly unknown[]> {
  const simulator = await buildAccount(account);
  try {
    const [keys] = simulator.accounts;
    const [url] = simulator.baseUrls;
    if (keys === undefined || url === undefined) throw new TypeError('no account');
    const body = JSON.stringify({ request: PATH, nonce: String(Date.now()), nonceWindow: true });
    const payload = Buffer.from(body).toString('base64');
    const reply = await fetch(`${url}${PATH}`, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'X-TXC-APIKEY': keys.apiKey,
        'X-TXC-PAYLOAD': payload,
        'X-TXC-SIGNATURE': createHmac('sha512', keys.apiSecret).update(payload).digest('hex'),
      },
    });
    const records: unknown = await reply.json();
    if (!Array.isArray(records)) throw new TypeError(`no list: ${JSON.stringify(records)}`);
    return records.map((record: object) => Object.assign(record, { openDate: OPENED, modifyDate: OPENED }));
  } finally {
    await simulator.close();
  }
}

const OPENED = 1_700_000_000;
