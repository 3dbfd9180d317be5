import { type Decimal, decimal, formatDecimal } from '../../core/quantities/decimal.ts';
import type { ServedEndpoint } from '../http/dispatch.ts';
import { emptyBody, privateError, type Reply, success } from '../http/reply.ts';
import type { CreditLineView } from '../model/credit.ts';
import type { Readings } from '../model/readings.ts';
import type { EndpointParts } from './parts.ts';

const HUNDRED = decimal('100');

/** Specification 4.6b. The reading `loanReply` decides about an array and about the reply without a loan. */
export function creditLineEndpoint(parts: EndpointParts): ServedEndpoint {
  return {
    name: 'creditLine',
    path: '/api/v4/credit-line/loans/info',
    permission: 'creditLine',
    handle: ({ accountId, staleMs }): Reply => {
      const readings = parts.model.readings();
      const loans = parts.reads(accountId, staleMs).creditLines();
      if (readings.loanReply === 'array') return success(loans.map((loan) => loanRecord(loan, readings)));
      const [first] = loans;
      if (first !== undefined) return success(loanRecord(first, readings));
      if (readings.loanReply === 'error') return privateError(400, 0, 'No active loan at the moment');
      if (readings.loanReply === 'absent') return privateError(404, 0, 'Loans are not available.');
      return success(emptyBody(readings.emptyResult));
    },
  };
}

/** Specification 2.5. */
function loanRecord(loan: CreditLineView, { ltvUnit }: Readings): object {
  const ltv = (value: Decimal) => formatDecimal(ltvUnit === 'percent' ? value.times(HUNDRED) : value);
  return {
    asset: loan.asset,
    amount: formatDecimal(loan.amount),
    totalFunding: formatDecimal(loan.totalFunding),
    currentLtv: ltv(loan.currentLtv),
    initialLtv: ltv(loan.initialLtv),
    marginCallLtv: ltv(loan.marginCallLtv),
    liquidationLtv: ltv(loan.liquidationLtv),
    createdAt: Math.floor(loan.createdMs / 1_000),
  };
}
