/** Sample replies as in specification 2.4. */
export function positionsReply(count: number): string {
  const position = (index: number) => ({
    positionId: 191_823 + index,
    market: index % 2 === 0 ? 'BTC_PERP' : 'ETH_PERP',
    openDate: 1_660_340_344.027_163 + index,
    modifyDate: 1_660_340_344.027_163 + index,
    amount: '0.075',
    basePrice: '24149.24512',
    liquidationPrice: '7059.02',
    liquidationState: null,
    pnl: '0',
    pnlPercent: '-0.08',
    margin: '4.86',
    freeMargin: '9.1571',
    funding: '0',
    unrealizedFunding: '0.0019142920201966',
    unrealizedPnl: '-0.10815',
    tpsl: {
      takeProfitId: 123_456 + index,
      takeProfit: '50000',
      stopLossId: 123_457 + index,
      stopLoss: '20000',
    },
    positionSide: 'LONG',
  });
  return JSON.stringify(Array.from({ length: count }, (_, index) => position(index)));
}

/** A credit line reply as in specification 2.5. */
export function loanReply(): string {
  return JSON.stringify({
    asset: 'USDT',
    amount: '1000',
    totalFunding: '1.25',
    currentLtv: '25',
    initialLtv: '60',
    marginCallLtv: '75',
    liquidationLtv: '85',
    createdAt: 1_700_000_000,
  });
}
