import { LOG_CHANNEL } from '../../core/ports/delivery.ts';
import type {
  ActionSpec,
  ActiveWindow,
  ReduceTarget,
  RuleSpec,
  Rung,
  SubjectFilter,
} from '../../core/rules/rule.ts';
import { durationInWords, numberInWords, percentInWords } from '../shape/units.ts';
import { clearancesInWords, conditionInWords, listInWords } from './conditions.ts';

/**
 * Describes a rule in one or a few sentences: `when a position in *_PERP is nearer than 5.0 % to liquidation for 3 s:
 * cancel margin and futures orders in its market, then reduce until 10.0 % away ...`.
 */
export function ruleInWords(rule: RuleSpec): string {
  const held = rule.forMs === 0 ? '' : ` for ${durationInWords(rule.forMs)}`;
  const active = rule.activeWindow === undefined ? '' : `${windowInWords(rule.activeWindow)}, `;
  const condition = conditionInWords(rule.on, rule.when);
  // "A or B for 3 s" would be ambiguous.
  const whole =
    held !== '' && (rule.when.kind === 'any' || rule.when.kind === 'all') ? `(${condition})` : condition;
  const stages = [
    actionsInWords(rule, rule.actions),
    ...rule.escalate.map(
      ({ afterMs, actions }) =>
        `when that still holds ${durationInWords(afterMs)} after firing: ${actionsInWords(rule, actions)}`,
    ),
  ];
  const sentence = `${active}when ${subjectInWords(rule)} ${whole}${held}: ${stages.join('; ')}`;
  return [sentence, keptInWords(rule), limitsInWords(rule)].filter((part) => part !== '').join('. ');
}

function subjectInWords({ on, where }: RuleSpec): string {
  if (on === 'account') return 'the account';
  if (on === 'creditLine') return `a credit line${filterInWords(where)}`;
  return `a ${where.direction === undefined ? '' : `${where.direction} `}position${filterInWords(where)}`;
}

function filterInWords({ market, asset, positionId }: SubjectFilter): string {
  const among = (patterns: readonly string[] | undefined): string =>
    patterns === undefined || patterns.includes('*') ? '' : ` in ${listInWords(patterns, 'or')}`;
  const inMarket = among(market);
  const inAsset = among(asset);
  const byId = positionId === undefined ? '' : ` with the id ${listInWords(positionId, 'or')}`;
  return `${inMarket}${inAsset}${byId}`;
}

function actionsInWords(rule: RuleSpec, actions: readonly ActionSpec[]): string {
  if (actions.length === 0) return 'only show it';
  return actions.map((action) => actionInWords(rule, action)).join(', then ');
}

function actionInWords(rule: RuleSpec, action: ActionSpec): string {
  switch (action.kind) {
    case 'cancelAll': {
      const where = action.scope === 'market' ? 'in its market' : 'in the whole account';
      return `cancel ${listInWords(action.types)} orders ${where}`;
    }
    case 'reduce':
      return `${targetInWords(action.target, positionsInWords(action.positions))} with a slippage of ${listInWords(action.slippageSteps.map(percentInWords), 'and')}${action.slippageSteps.length > 1 ? ' in turn' : ''}`;
    case 'protect': {
      const what = positionsInWords(action.positions);
      const whom = what === '' ? 'it' : what.trim();
      if (action.ladder !== undefined) {
        return `keep stops for ${whom} on the way to liquidation, ${rungsInWords(action.ladder)}, with a slippage of ${percentInWords(action.slippage)}`;
      }
      return `keep a stop for ${whom} at ${percentInWords(action.at)} of the way to liquidation with a slippage of ${percentInWords(action.slippage)}`;
    }
    case 'notify': {
      const cure =
        action.cure.length === 0
          ? ''
          : ` with what cures it to an LTV of ${listInWords(action.cure.map(percentInWords), 'or')}`;
      const unit = rule.on === 'account' ? '' : cure;
      return `${channelsInWords(action.channels)}${unit}`;
    }
  }
}

function rungsInWords(rungs: readonly Rung[]): string {
  const parts = rungs.map(({ at, leave }, index) => {
    const share = (rungs[index - 1]?.leave ?? 1) - leave;
    const closed = leave === 0 && index > 0 ? 'the rest' : percentInWords(Number(share.toFixed(9)));
    return `${closed} at ${percentInWords(at)}`;
  });
  return listInWords(parts);
}

function channelsInWords(channels: readonly string[]): string {
  return channels.every((channel) => channel === LOG_CHANNEL)
    ? 'write it to the log'
    : `tell ${listInWords(channels)}`;
}

function positionsInWords(positions: readonly string[] | undefined): string {
  if (positions === undefined) return '';
  return positions.includes('*') ? ' every position' : ` every position in ${listInWords(positions, 'or')}`;
}

function targetInWords(target: ReduceTarget, positions: string): string {
  switch (target.kind) {
    case 'by':
      return target.fraction === 1
        ? close(positions)
        : `reduce${positions} by ${percentInWords(target.fraction)}`;
    case 'to':
      return target.fraction === 0
        ? close(positions)
        : `reduce${positions} to ${percentInWords(target.fraction)} of its size`;
    case 'toNotional':
      return `reduce${positions} to a value of ${numberInWords(target.notional)}`;
    case 'untilJointDistance':
      return `reduce${positions} until all markets together are ${percentInWords(target.distance)} away`;
    case 'untilMarginUsage':
      return `reduce${positions} until ${percentInWords(target.usage)} of the ${target.asset} funds are margin`;
    case 'untilDistance':
      return `reduce${positions} until ${percentInWords(target.distance)} away`;
  }
}

function close(positions: string): string {
  return `close${positions === '' ? ' it' : positions}`;
}

function keptInWords(rule: RuleSpec): string {
  const clearances = clearancesInWords(rule);
  const parts = [
    ...(clearances.length === 0 ? [] : [`clears with ${listInWords(clearances)}`]),
    ...(rule.keepFiringForMs === 0
      ? []
      : [`fires on for ${durationInWords(rule.keepFiringForMs)} after that`]),
  ];
  return parts.length === 0 ? '' : `It ${parts.join(' and ')}`;
}

function limitsInWords({ limits: { cooldownMs, perHour } }: RuleSpec): string {
  const parts = [
    ...(cooldownMs === undefined ? [] : [`not again within ${durationInWords(cooldownMs)} of its end`]),
    ...(perHour === undefined ? [] : [`at most ${perHour} times an hour`]),
  ];
  return parts.length === 0 ? '' : `It acts ${parts.join(', ')}`;
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;

function windowInWords({ days, fromMinute, toMinute, timeZone }: ActiveWindow): string {
  const on = days.length === 7 ? 'daily' : `on ${days.map((day) => DAYS[day] ?? '').join(', ')}`;
  return `${on} from ${clock(fromMinute)} to ${clock(toMinute)} (${timeZone})`;
}

function clock(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
}
