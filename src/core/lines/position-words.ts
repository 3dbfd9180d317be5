import { roughly } from '../quantities/roughly.ts';
import type { AccountView, CreditLineLine, Figure, PositionLine } from '../view/account-view.ts';

/** `BTC_PERP: long 0.5, mark 64000, 12.50 % from liquidation, no stop, seen 2 s ago`. */
export function positionWords(position: PositionLine, view: Pick<AccountView, 'sources'>): string {
  const { market, direction, sizeBase, markPrice, liquidationDistance } = position;
  const parts = [
    `${direction ?? 'direction unknown, amount'} ${sizeBase}`,
    markPrice === null ? 'mark unknown' : `mark ${markPrice}`,
    liquidationDistance === 'none'
      ? 'no liquidation price'
      : liquidationDistance === null
        ? 'distance to liquidation unknown'
        : `${percent(liquidationDistance)} from liquidation`,
    coverWords(position),
    seenWords('positions', view),
  ];
  return `${market}: ${parts.join(', ')}`;
}

/** The joint distance of all markets; undefined for fewer than two positions. */
export function jointWords({
  positions,
  jointDistance,
}: Pick<AccountView, 'positions' | 'jointDistance'>): string | undefined {
  if (positions.length < 2 || jointDistance === 'none') return undefined;
  const distance = jointDistance === null ? 'unknown' : percent(jointDistance);
  return `all markets together: distance to liquidation ${distance}`;
}

/** `covered 70.00 % at 61200 and 60400, the nearest 1.20 % away`. */
function coverWords({ stopCover, stopCoverShare, stopPrices = [], markPrice }: PositionLine): string {
  const [nearest] = stopPrices;
  if (nearest === undefined || stopCoverShare === undefined)
    return stopCover === null ? 'cover unknown' : COVER_WORDS[stopCover];
  const where = [stopPrices.slice(0, -1).join(', '), stopPrices.at(-1)].filter(Boolean).join(' and ');
  const away =
    markPrice === null
      ? ''
      : `, the nearest ${percent(Math.abs(1 - Number(nearest) / Number(markPrice)))} away`;
  return `covered ${percent(stopCoverShare)} at ${where}${away}`;
}

const COVER_WORDS: Readonly<Record<NonNullable<PositionLine['stopCover']>, string>> = {
  ok: 'covered by a stop',
  missing: 'no stop',
  beyondLiquidation: 'its stop comes after liquidation',
  unconfirmed: 'its stop is not confirmed',
};

export function creditLineWords(creditLine: CreditLineLine, view: Pick<AccountView, 'sources'>): string {
  const { subject, amount, currentLtv, marginCallLtv, cures } = creditLine;
  const [cure] = cures;
  const parts = [
    `amount ${amount}`,
    `LTV ${ltv(currentLtv)}${marginCallLtv === null ? '' : ` of ${ltv(marginCallLtv)} for a margin call`}`,
    ...(cure === undefined
      ? []
      : [`${percent(cure.targetLtv)} by repaying ${cure.repay} or adding ${cure.addCollateralWorth}`]),
    seenWords('creditLine', view),
  ];
  return `${subject.replace(/^creditLine:/, '')}: ${parts.join(', ')}`;
}

function ltv(figure: Figure): string {
  return typeof figure === 'number' ? percent(figure) : 'unknown';
}

function percent(fraction: number): string {
  return `${(fraction * 100).toFixed(2)} %`;
}

function seenWords(source: string, { sources }: Pick<AccountView, 'sources'>): string {
  const found = sources.find((one) => one.source === source);
  return found === undefined ? 'not read any more' : `seen ${roughly(found.ageMs)} ago`;
}
