/**
 * The factors of a case of the field grid. The values are the words of the tables and of `--only`; their figures stand
 * beside the code that builds a world from them.
 */
export const FACTORS = {
  latency: ['0.1 s', '0.4 s', '0.8 s', '1.5 s', '3 s'],
  slow: ['reads and orders', 'reads only', 'orders only'],
  speed: ['0.1 %/s', '0.16 %/s', '0.3 %/s', '0.5 %/s', '1 %/s'],
  basis: ['0', '0.3 %', '1 %'],
  errors: ['0', '10 %', '30 %'],
  account: ['one long', 'one short', 'hedged', 'ten correlated', 'mixed with loan', 'sixty markets'],
  list: ['clean', 'one null record', 'one broken record', 'empty string', 'empty for a minute'],
  cancels: ['work', 'refused', 'unanswered'],
  stalls: ['none', '0.2 to 3 s'],
  leverage: ['3x', '5x', '8x', '10x', '15x', '20x', '25x'],
  standing: ['by its leverage', 'at entry', 'in profit, withdrawn'],
  money: ['USDT', 'USDC', 'BTC'],
  scale: ['ordinary', 'tiny price', 'huge price'],
  collateral: ['money', 'half in coins'],
  rules: ['conservative', 'balanced', 'last-resort'],
  margin: ['cross', 'isolated'],
  cancelCoversStops: ['yes', 'no'],
  stopTriggerSource: ['last', 'mark'],
  stopTriggersAtEquality: ['yes', 'no'],
  wrongSideActivation: ['opposite', 'atOnce', 'refused'],
  reduceOnlyRoom: ['position', 'trimmed', 'refused'],
  clientOrderIdUniqueness: ['forever', 'openOrders'],
  shortAmount: ['signed', 'unsigned'],
  lateArrival: ['0 s', '2 s'],
  readLag: ['0 s', '0.5 s'],
  replies: ['as specified', 'as the live service'],
} as const;

export type Factor = keyof typeof FACTORS;

/** One value of every factor. */
export type Levels = { readonly [F in Factor]: (typeof FACTORS)[F][number] };

export const FACTOR_NAMES = Object.keys(FACTORS) as readonly Factor[];

export function valuesOf(factor: Factor): readonly string[] {
  return FACTORS[factor];
}

/** Values that every case has, from `factor=value`; `undefined` for an unknown one. */
export function parseFixed(text: string): readonly [Factor, string] | undefined {
  const at = text.indexOf('=');
  const [name, value] = [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  const factor = FACTOR_NAMES.find((one) => one === name);
  if (at < 0 || factor === undefined || !valuesOf(factor).includes(value)) return undefined;
  return [factor, value];
}
